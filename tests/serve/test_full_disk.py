"""The disk is full while a home is served: who writes is told so, who reads goes on, and nothing is half-written."""

import errno
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from kb.errors import CorruptError, DiskFullError, LockedError, QueryError, ReadOnlyError
from kb.serve import uploads
from kb.serve.guard import refused
from kb.serve.people import Role
from kb.settings import Settings
from kb.usecases.knowledge_base import KnowledgeBase
from tests.conftest import fill
from tests.serve.conftest import ORIGIN, Team
from tests.serve.test_serving import SKILL

CURATOR = Role.CURATOR
FACT = {"quantity": "lds_size", "value": "64", "unit": "KiB", "quote": "lds_size 64 KiB"}
READS: dict[str, tuple[str, str, Any]] = {
    "search": ("POST", "/api/search", {"phrasings": ["wave lanes"], "target": "mi300x"}),
    "facts": ("POST", "/api/facts", {"target": "mi300x"}),
    "passages": ("POST", "/api/context", {"phrasings": ["wave lanes"], "target": "mi300x"}),
    "documents": ("POST", "/api/documents", {}),
    "skills": ("POST", "/api/skills", {}),
    "the page": ("GET", "/?q=lanes&target=mi300x", None),
    "a document's page": ("GET", "/document?path=mi300x/guide.md", None),
    "an agent": ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "kb_facts", "arguments": {"target": "mi300x", "quantity": "lds_size"}}}),
}  # fmt: skip
Write = Callable[["Sender"], Any]
WRITES: dict[str, Write] = {
    "a document": lambda send: send(
        "PUT", "/api/documents/mi300x/new.md", content=b"# New\n\nzorkbanks " + b"x" * 9000
    ),
    "a skill": lambda send: send("POST", "/api/propose_skill", json={"skill": SKILL | {"name": "pad-the-rows"}}),
    "facts": lambda send: send("POST", "/api/propose_facts", json={"target": "mi300x", "answers": [FACT]}),
    "a decision": lambda send: send(
        "POST", "/api/decide_fact", json={"fact": send.fact, "verb": "reject", "reason": "x" * 2000}
    ),
    "a removal": lambda send: send("POST", "/api/remove_document", json={"path": "mi300x/guide.md"}),
}


class Sender:
    """A curator who sends requests."""

    def __init__(self, client: TestClient, team: Team) -> None:
        self._client, self._headers = client, team.headers(CURATOR)
        self.fact = ""

    def __call__(self, method: str, path: str, **sent: Any) -> Any:
        return self._client.request(method, path, headers=self._headers, **sent)


@pytest.fixture
def settings(stocked: Path, small_disk: Path) -> Settings:
    home = shutil.copytree(stocked, small_disk / "home")
    return Settings(home=home, embedding_model="none")


@pytest.fixture
def send(team: Team) -> Iterator[Sender]:
    with TestClient(team.guard, base_url=ORIGIN, raise_server_exceptions=False) as client:
        yield Sender(client, team)


def held(home: Path) -> dict[str, bytes]:
    """The files of a home but the catalog's and locks, and what the catalog holds."""
    skipped = (".lock", ".lock.holder")
    files = {
        str(path.relative_to(home)): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and not path.name.startswith("catalog.sqlite") and path.name not in skipped
    }
    with sqlite3.connect(home / "catalog.sqlite") as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for table in ("document", "chunk", "fact", "fact_verdict"):
            files[table] = repr(db.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()).encode()
    return files


@pytest.mark.parametrize("warm", [True, False], ids=["after a question", "before the first question"])
def test_a_full_disk_refuses_who_writes_and_not_who_reads_and_harms_nothing(
    settings: Settings, send: Sender, warm: bool
) -> None:
    before = held(settings.home)
    with KnowledgeBase(settings) as kb:
        send.fact = next(iter(kb.facts("mi300x", "lds_size"))).citation.id
    if warm:
        assert read(send) == dict.fromkeys(READS, 200)
    filler = fill(settings.home.parent, leave=0)

    written = {name: write(send) for name, write in WRITES.items()}
    read_meanwhile = read(send)

    assert {name: answer.status_code for name, answer in written.items()} == dict.fromkeys(WRITES, 507)
    assert {name for name, answer in written.items() if "no space left" not in answer.json()["message"]} == set()
    assert all(answer.json()["hint"] for answer in written.values())
    assert read_meanwhile == dict.fromkeys(READS, 200)
    assert held(settings.home) == before
    filler.unlink()
    assert {name: write(send).status_code for name, write in WRITES.items()} == dict.fromkeys(WRITES, 200)


def read(send: Sender) -> dict[str, int]:
    """The status of each answer."""
    return {name: send(method, path, json=sent).status_code for name, (method, path, sent) in READS.items()}


def test_a_document_that_the_disk_has_no_space_for_leaves_nothing(settings: Settings, send: Sender) -> None:
    before = held(settings.home)
    for leave in (4096, 40_000, 90_000):  # while it is received, when it is kept, when it is read
        filler = fill(settings.home.parent, leave=leave)
        text = "# New\n\n" + " ".join(f"word{number}" for number in range(9000))
        answer = send("PUT", "/api/documents/mi300x/large.md", content=text.encode())

        assert (answer.status_code, leave) == (507, leave)
        assert held(settings.home) == before
        filler.unlink()


@pytest.mark.parametrize(
    ("number", "status"), [(errno.ENOSPC, 507), (errno.EDQUOT, 507), (errno.EFBIG, 507), (errno.EIO, 500)]
)
def test_whatever_keeps_the_disk_from_taking_a_document_is_told(
    send: Sender, settings: Settings, monkeypatch: pytest.MonkeyPatch, number: int, status: int
) -> None:
    def fail(_: int) -> None:
        raise OSError(number, "it does not")

    monkeypatch.setattr("kb.serve.application.os.fsync", fail)
    answer = send("PUT", "/api/documents/mi300x/new.md", content=b"# New\n")

    assert answer.status_code == status
    assert str(settings.home) in answer.json()["message"]
    assert [*(settings.home / uploads.FOLDER).iterdir()] == []


STATUSES = {DiskFullError: 507, LockedError: 503, ReadOnlyError: 500, CorruptError: 500, QueryError: 422}


@pytest.mark.parametrize("kind", STATUSES)
def test_each_error_of_the_home_has_its_status(kind: type[DiskFullError]) -> None:
    assert refused(None, kind("what", hint="so")).status_code == STATUSES[kind]

"""An index on a real Chroma server gives the exact answers; whatever the server does, a question costs time at most."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.request import urlopen
from uuid import uuid4

import pytest
from chromadb.api.models.Collection import Collection  # noqa: TID253

from kb.catalog import Catalog
from kb.settings import Settings
from kb.types.passages import SearchResult
from kb.usecases.doctor import examine
from kb.usecases.knowledge_base import KnowledgeBase
from retrieval import models
from retrieval.chroma_index import ChromaIndex
from retrieval.chroma_server import Server, kept_by
from tests.conftest import HashEmbedder
from tests.retrieval.test_chroma_index import QUESTIONS, WORDS, is_said, summary

COMMAND = Path(sys.executable).with_name("chroma")
STARTS_S = 60
INGEST = """
import sys
from pathlib import Path
from kb.settings import Settings
from kb.usecases.knowledge_base import KnowledgeBase
from tests.conftest import HashEmbedder
home, url, *folders = sys.argv[1:]
with KnowledgeBase(Settings(home=Path(home), exact_vectors=0, chroma_url=url), embedder=HashEmbedder()) as kb:
    for folder in folders:
        kb.ingest([Path(folder)])
"""


class Chroma:
    """`chroma run` on a free port of loopback."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with closing(socket.create_server(("127.0.0.1", 0))) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        command = [COMMAND, "run", "--path", self.folder, "--host", "127.0.0.1", "--port", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + STARTS_S
        while True:
            try:
                return urlopen(f"{self.url}/api/v2/heartbeat").close()
            except OSError:
                assert self.process.poll() is None, "chroma does not start"
                assert time.monotonic() < until, "chroma does not answer"
                time.sleep(0.1)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def running(folder: Path) -> Iterator[Chroma]:
    if not COMMAND.exists():
        pytest.skip("the command `chroma` of chromadb is not installed")
    chroma = Chroma(folder)
    try:
        yield chroma
    finally:
        chroma.stop()


@pytest.fixture(scope="module")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chroma]:
    with running(tmp_path_factory.mktemp("chroma")) as chroma:
        yield chroma


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Chroma]:
    """A server for a test to stop."""
    with running(tmp_path / "chroma") as chroma:
        yield chroma


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    docs = tmp_path_factory.mktemp("docs")
    for target in ("mi210", "hexagon"):
        (docs / target).mkdir()
        texts = (" ".join(WORDS[(i * 7 + j * j) % len(WORDS)] for j in range(25)) for i in range(60))
        sections = (f"## S{i}\n\n{text}\n" for i, text in enumerate(texts))
        (docs / target / "a.md").write_text("# T\n\n" + "\n".join(sections), encoding="utf-8")
    return docs


def opened(home: Path, url: str = "", **settings: object) -> KnowledgeBase:
    """The home with its index on the server at `url`; without one, a home that compares every vector."""
    return KnowledgeBase(
        Settings(home=home, exact_vectors=0 if url else 100_000, chroma_url=url, **settings), embedder=HashEmbedder()
    )


def asked(kb: KnowledgeBase, questions: Sequence[str] = QUESTIONS[:6]) -> list[SearchResult]:
    return [kb.search(question, limit=20) for question in questions]


def answers(home: Path, url: str = "", **settings: object) -> list[tuple[list[tuple[str, float]], bool]]:
    """The hits of each question, and whether a note says that the index was not used."""
    with opened(home, url, **settings) as kb:
        return [summary(result) for result in asked(kb)]


def degraded(home: Path) -> list[tuple[list[tuple[str, float]], bool]]:
    return [(hits, True) for hits, _ in answers(home)]


def collections(chroma: Chroma) -> set[str]:
    with urlopen(f"{chroma.url}/api/v2/tenants/default_tenant/databases/default_database/collections") as answer:
        return {collection["name"] for collection in json.load(answer)}


def opened_collection(kb: KnowledgeBase) -> Collection:
    assert kb.catalog.generation is not None
    return Server(kb.settings, 10).open(kb.catalog.generation.name, kb.catalog.generation.checksum)


def published(home: Path) -> str:
    with Catalog(home) as catalog:
        assert catalog.generation is not None
        return catalog.generation.name


def test_the_server_gives_the_same_answers_as_comparing_every_vector_and_the_home_keeps_no_index(
    chroma: Chroma, home: Path, docs: Path
) -> None:
    with opened(home, chroma.url) as kb:
        kb.ingest([docs])
        held = ChromaIndex(kb.catalog, model=HashEmbedder.fingerprint, kept=kept_by(kb.settings)).check()

    assert held.count == 120
    assert answers(home, chroma.url) == answers(home)
    assert not any(said for _, said in answers(home, chroma.url))
    assert not (home / "index").exists()


def test_the_server_gets_no_text_and_neither_paths_nor_the_name_of_the_home(
    chroma: Chroma, home: Path, docs: Path
) -> None:
    with opened(home, chroma.url) as kb:
        kb.ingest([docs])
        everything = opened_collection(kb).get(include=["documents", "metadatas", "uris"])

    assert not any(everything["documents"] or [])
    assert {tuple(metadata.items()) for metadata in everything["metadatas"] or []} == {
        (("target", "hexagon"),), (("target", "mi210"),)
    }  # fmt: skip
    assert not any(home.name in name or str(home) in name for name in collections(chroma))


def test_the_previous_generation_is_kept_and_older_ones_are_removed_but_none_of_another_home(
    chroma: Chroma, home: Path, docs: Path, tmp_path: Path
) -> None:
    shutil.copytree(docs, tmp_path / "docs")
    with opened(tmp_path / "other", chroma.url) as kb:
        kb.ingest([docs])
    names = []

    with opened(home, chroma.url) as kb:
        for version in range(4):
            (tmp_path / "docs" / "mi210" / "b.md").write_text(f"# Version\n\nThis is {version}.\n", encoding="utf-8")
            kb.ingest([tmp_path / "docs"])
            names.append(published(home))
        kb.ingest([tmp_path / "docs"])

        assert len(set(names)) == 4
        assert {name for name in collections(chroma) if name.startswith(kept_by(kb.settings).prefix)} == {*names[-2:]}
    assert published(tmp_path / "other") in collections(chroma)


@pytest.mark.slow
def test_a_server_that_is_down_fails_no_question_and_no_ingest_and_the_next_ingest_publishes(
    own: Chroma, home: Path, docs: Path
) -> None:
    told: list[str] = []
    own.stop()
    settings = Settings(home=home, exact_vectors=0, chroma_url=own.url)
    with KnowledgeBase(settings, embedder=HashEmbedder(), notify=told.append) as kb:
        kb.ingest([docs])

        assert [message for message in told if "compare every vector" in message and own.url in message]
        assert [summary(result) for result in asked(kb)] == degraded(home)
        own.start()
        kb.ingest([docs])
        assert [summary(result) for result in asked(kb)] == answers(home)


@pytest.mark.slow
def test_a_restarted_server_is_used_again_by_a_home_that_stayed_open(own: Chroma, home: Path, docs: Path) -> None:
    with opened(home, own.url) as kb:
        kb.ingest([docs])
        before = [summary(result) for result in asked(kb)]
        own.stop()
        meanwhile = asked(kb)
        own.start()

        assert all(len([note for note in result.notes if "compared every vector" in note]) == 1 for result in meanwhile)
        assert [summary(result) for result in meanwhile] == degraded(home)
        assert [summary(result) for result in asked(kb)] == before == answers(home)


@pytest.mark.slow
def test_a_server_that_lost_its_folder_fails_no_question_and_the_next_ingest_publishes(
    own: Chroma, home: Path, docs: Path
) -> None:
    with opened(home, own.url) as kb:
        kb.ingest([docs])
        asked(kb)
        own.stop()
        shutil.rmtree(own.folder)
        own.start()

        assert [summary(result) for result in asked(kb)] == degraded(home)
        assert answers(home, own.url) == degraded(home)
        kb.ingest([docs])
        assert [summary(result) for result in asked(kb)] == answers(home)


def test_a_collection_that_somebody_emptied_is_not_asked(chroma: Chroma, home: Path, docs: Path) -> None:
    with opened(home, chroma.url) as kb:
        kb.ingest([docs])
        held = opened_collection(kb)
        held.delete(ids=held.get(include=[])["ids"][:50])

    assert answers(home, chroma.url) == degraded(home)
    with opened(home, chroma.url) as kb:
        assert "holds 70 of 120 vectors" in "".join(kb.search(QUESTIONS[0]).notes)


@contextmanager
def pretending(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """Something on loopback that is no Chroma server."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        do_POST = do_DELETE = do_GET  # noqa: N815 - named by the library

        def log_message(self, *arguments: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads, server.block_on_close = True, False
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def replying(status: int, body: bytes) -> Callable[[BaseHTTPRequestHandler], None]:
    def reply(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return reply


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda request: time.sleep(2), id="too late"),
        pytest.param(lambda request: request.connection.close(), id="no answer"),
        pytest.param(replying(500, b"{}"), id="an error"),
        pytest.param(replying(200, b"<html>"), id="no JSON"),
        pytest.param(replying(200, b"[[]]"), id="other JSON"),
        pytest.param(replying(302, b""), id="a redirection"),
    ],
)
def test_a_server_that_answers_late_or_wrongly_fails_no_question(
    home: Path, docs: Path, monkeypatch: pytest.MonkeyPatch, answer: Callable[[BaseHTTPRequestHandler], None]
) -> None:
    monkeypatch.setattr(models, "kept_by", lambda settings: Server(settings, 0.2) if settings.chroma_url else None)
    with opened(home) as kb:
        kb.ingest([docs])
        name = f"{Server(kb.settings, 1).prefix}1"
    with pretending(answer) as url:
        forge(home, name)
        began = time.monotonic()

        assert answers(home, url) == degraded(home)
        assert time.monotonic() - began < 6


def forge(home: Path, name: str) -> None:
    """Make the catalog name a generation that no server has."""
    from kb.types.records import Generation

    with Catalog(home) as catalog:
        catalog.publish(Generation(name, catalog.revision, HashEmbedder.fingerprint, 120, str(uuid4())))


@pytest.mark.parametrize(
    ("url", "settings"),
    [
        ("http://chroma.example.org:8000", {}),
        ("http://chroma.example.org:8000", {"local_authors": "other.example.org"}),
        ("http://192.0.2.1:8000", {}),
        ("localhost:8000", {}),
        ("ftp://chroma.example.org", {}),
    ],
)
def test_a_server_elsewhere_without_https_is_told_nothing_and_one_sentence_says_why(
    home: Path, docs: Path, url: str, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(socket, "create_connection", lambda *arguments, **named: pytest.fail("something was sent"))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *arguments, **named: pytest.fail("a name was looked up"))
    written = Settings(home=home, exact_vectors=0, chroma_url=url, **settings)
    with KnowledgeBase(written, embedder=HashEmbedder(), notify=told.append) as kb:
        kb.ingest([docs])

        [refused] = [message for message in told if "every vector" in message]
        assert "only https or a host of `local_authors` gets vectors" in refused
        assert [summary(result) for result in asked(kb)] == degraded(home)


@pytest.mark.parametrize(
    ("url", "settings"),
    [
        ("https://chroma.example.org", {}),
        ("http://chroma.example.org:8000", {"local_authors": "chroma.example.org"}),
        ("http://[::1]:8000", {}),
        ("http://localhost:8000", {}),
    ],
)
def test_https_loopback_and_hosts_that_the_settings_name_are_asked(
    home: Path, url: str, settings: dict[str, str]
) -> None:
    server = Server(Settings(home=home, chroma_url=url, **settings), 1)

    assert server._api.get_api_url() == f"{url}/api/v2"


def test_a_password_in_the_address_is_in_no_message(home: Path) -> None:
    server = Server(Settings(home=home, chroma_url="https://me:secret@chroma.example.org"), 1)

    assert server.root == "chroma.example.org"


def test_a_server_on_loopback_is_reached_directly_although_a_proxy_is_set(
    chroma: Chroma, home: Path, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    with opened(home, chroma.url) as kb:
        kb.ingest([docs])
        assert not any(is_said(result) for result in asked(kb))


@pytest.mark.slow
def test_two_processes_that_write_leave_one_whole_generation(
    chroma: Chroma, home: Path, docs: Path, tmp_path: Path
) -> None:
    folders = [docs]
    for part in range(2):
        folders.append(tmp_path / f"more{part}" / "mi210")
        folders[-1].mkdir(parents=True)
        (folders[-1] / f"p{part}.md").write_text(f"# P\n\nPart {part} of {WORDS[part]}.\n", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    homes = [home, home, tmp_path / "other"]
    writers = [
        subprocess.Popen([sys.executable, "-c", INGEST, at, chroma.url, docs, folder], env=environment)
        for at, folder in zip(homes, [folders[1], folders[2], folders[1]], strict=True)
    ]
    statuses = [writer.wait() for writer in writers]

    assert statuses[2] == 0
    if any(statuses[:2]):  # the other one had the lock for longer than a writer waits
        with opened(home, chroma.url) as kb:
            kb.ingest(folders)
    for at in set(homes):
        assert answers(at, chroma.url) == answers(at)
        assert published(at) in collections(chroma)


@pytest.mark.slow
def test_a_server_that_dies_while_it_is_written_leaves_the_index_as_it_was(
    own: Chroma, home: Path, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(home, own.url) as kb:
        kb.ingest([docs])
        before = published(home)
        (tmp_path / "mi210").mkdir()
        (tmp_path / "mi210" / "late.md").write_text("# Late\n\nA zebra crosses.\n", encoding="utf-8")
        with monkeypatch.context() as patched:
            patched.setattr(Collection, "upsert", lambda *arguments, **named: own.stop() or pytest.fail("stopped"))
            patched.setattr(pytest, "fail", lambda reason: (_ for _ in ()).throw(ConnectionError(reason)))
            kb.ingest([tmp_path / "mi210"])
        assert published(home) == before
        own.start()
        left = collections(own)
        assert len(left) == 2, "the new collection is there, and nothing names it"

        kb.ingest([tmp_path / "mi210"])

        assert collections(own) == {before, published(home)}
        assert not is_said(kb.search("zebra"))


def test_the_doctor_finds_and_repairs_an_index_on_a_server(
    chroma: Chroma, home: Path, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb.usecases.doctor._model", lambda settings: (examined(settings)[0], HashEmbedder()))
    with opened(home, chroma.url) as kb:
        kb.ingest([docs])
        settings = kb.settings
        forge(home, f"{Server(settings, 1).prefix}1")

    states = [
        next(check for check in examine(settings, repair=repair) if check.name == "index")
        for repair in (False, True, False)
    ]

    assert [check.state for check in states] == ["warn", "ok", "ok"]
    assert "does not exist; searches compare every vector instead" in states[0].finding


def examined(settings: Settings) -> list:
    from kb.usecases.doctor import Check

    return [Check(name="model", state="ok", finding=HashEmbedder.fingerprint)]

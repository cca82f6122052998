"""What a served home does for those who may: it answers, keeps what they send, queues writers, and survives a kill."""

import asyncio
import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client
from reportlab.pdfgen.canvas import Canvas
from starlette.testclient import TestClient

from eval.machine import sandbox_level
from kb.catalog import write_lock
from kb.runs.journal import Plan, Runs, SynthesizerKind
from kb.serve import application, lanes, reading, server, uploads
from kb.serve.calls import CALLS
from kb.serve.people import People, Role
from kb.settings import Settings
from kb.types.kernels import Task
from kb.usecases.knowledge_base import KnowledgeBase
from tests.serve.conftest import GUIDE, ORIGIN, Team

READER, AUTHOR, CURATOR = Role
SKILL = {
    "kind": "technique",
    "description": "Pad rows of shared memory by one word, so that the lanes of a wave read other banks.",
    "target": "mi300x",
    "body": "## Why\n\nThe lanes of a wave read a column, and all its words lie in one bank.\n",
}


class Caller:
    """A person of a role who uses the JSON API."""

    def __init__(self, client: TestClient, team: Team, role: Role) -> None:
        self._client, self._headers = client, team.headers(role)

    def __call__(self, call: str, /, **arguments: object) -> Any:
        answer = self._client.post(f"/api/{call}", json=arguments, headers=self._headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def send(self, name: str, content: str, trust: str = "") -> httpx.Response:
        path = f"/api/documents/mi300x/{name}" + (f"?trust={trust}" if trust else "")
        return self._client.put(path, content=content.encode(), headers=self._headers)


@pytest.fixture
def reader(client: TestClient, team: Team) -> Caller:
    return Caller(client, team, READER)


@pytest.fixture
def author(client: TestClient, team: Team) -> Caller:
    return Caller(client, team, AUTHOR)


@pytest.fixture
def curator(client: TestClient, team: Team) -> Caller:
    return Caller(client, team, CURATOR)


def test_an_idle_connection_is_kept_longer_than_clients_use_it_again(team: Team) -> None:
    assert server.config_of(team.guard).timeout_keep_alive > (httpx.Limits().keepalive_expiry or 0)


def test_the_calls_are_listed_with_their_arguments(client: TestClient, team: Team) -> None:
    listed = {one["call"]: one for one in client.get("/api", headers=team.headers(READER)).json()["calls"]}

    assert listed["search"]["least_role"] == "reader"
    assert listed["search"]["arguments"]["required"] == ["phrasings"]
    assert set(listed["decide_skill"]["arguments"]["properties"]) == {"skill", "verb", "reason"}
    assert all(one["description"] for one in listed.values())


def test_a_call_answers_as_the_tool_of_agents_does(reader: Caller, client: TestClient, team: Team) -> None:
    asked = {"target": "mi300x", "quantity": "lds_size"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "kb_facts", "arguments": asked}}
    headers = team.headers(READER) | {"accept": "application/json, text/event-stream"}

    answer = client.post("/mcp", json=message, headers=headers).json()["result"]["structuredContent"]

    assert reader("facts", **asked) == answer
    assert {fact["value"] for fact in answer["facts"]} == {"64"}


def test_a_wrong_argument_is_named(client: TestClient, team: Team) -> None:
    wrong = {
        "[]": "object",
        '{"targte": "x"}': "targte",
        '{"target": 1}': "target",
        "{": "JSON",
        '{"a": "\\ud800"}': "JSON",
    }
    for body, word in wrong.items():
        answer = client.post("/api/facts", content=body, headers=team.headers(READER))

        assert answer.status_code == 422
        assert word in answer.json()["message"]


def test_agents_of_readers_get_no_tool_that_writes(team: Team, port: int) -> None:
    async def names(role: Role) -> set[str]:
        from mcp.client.streamable_http import streamable_http_client

        async with httpx2_client(team.headers(role)) as http:
            transport = streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)
            async with Client(transport) as client:
                found = await client.call_tool("kb_facts", {"target": "mi300x", "quantity": "lds_size"})
                assert not found.is_error
                return {tool.name for tool in (await client.list_tools()).tools}

    reading, writing = (asyncio.run(names(role)) for role in (READER, AUTHOR))

    assert writing - reading == {"kb_propose_facts", "kb_propose_skill"}
    assert not {name for name in writing if re.search("run|submit|verify", name)}  # no folder of tasks is named


def httpx2_client(headers: dict[str, str]) -> Any:
    import httpx2

    return httpx2.AsyncClient(headers=headers)


def test_nobody_sees_a_private_document(client: TestClient, team: Team) -> None:
    for role in Role:
        caller = Caller(client, team, role)
        assert [one["path"] for one in caller("documents") if "roadmap" in one["path"]] == []
        assert caller("search", phrasings=["quokkabytes"], target="mi300x")["status"] == "insufficient"
        for path in ("/documents", "/?q=quokkabytes&target=mi300x", "/document?path=mi300x/roadmap.md"):
            assert "unannounced" not in client.get(path, headers=team.headers(role)).text


def test_a_reader_runs_no_code_of_a_task(
    reader: Caller, client: TestClient, team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb.usecases.judging.cache_dir", lambda: tmp_path)
    source = f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Model: ...\n"
    by_hand = Plan(
        task=Task(name="t", source=source), target="cpu-x86", language="cpp", synthesizer=SynthesizerKind.EXTERNAL,
        evaluations=1,
    )  # fmt: skip
    run = Runs(team.settings.home).start(by_hand).id

    assert reader("run", run=run)["evaluations_left"] == 1
    asked = client.post("/api/run", json={"run": run, "prompt": True}, headers=team.headers(READER))
    assert "has to run again" in asked.json()["message"]
    assert not (tmp_path / "ran").exists()


def test_a_document_that_is_sent_is_found_and_not_trusted_like_the_vendor(
    author: Caller, reader: Caller, curator: Caller, team: Team
) -> None:
    assert author.send("notes.md", "# Notes\n\nSwizzle the LDS against zorkbanks.\n").status_code == 200
    assert curator.send("errata.md", "# Errata\n\nThe florpcache is off.\n", trust="vendor").status_code == 200
    assert author.send("claims.md", "# Claims\n", trust="vendor").status_code == 403
    assert author.send("claims.md", "# Claims\n", trust="measured").status_code == 403

    found = {word: reader("search", phrasings=[word], target="mi300x") for word in ("zorkbanks", "florpcache")}
    assert [found[word]["trust"] for word in found] == ["community", "vendor"]
    assert "vendor" in found["zorkbanks"]["notes"][0]
    assert sorted(p.name for p in (team.settings.home / "uploads" / "mi300x").iterdir()) == ["errata.md", "notes.md"]


def test_a_name_is_taken_by_one_document_until_a_curator_removes_it(
    author: Caller, curator: Caller, team: Team
) -> None:
    file = team.settings.home / "uploads/mi300x/notes.md"
    assert author.send("notes.md", "# First\n").status_code == 200
    for name, content in (("notes.md", "# Second\n"), ("notes.md", "# First\n"), ("again.md", "# First\n")):
        assert author.send(name, content).status_code == 422
    assert [one.read_text() for one in file.parent.iterdir()] == ["# First\n"]

    removed = curator("remove_document", path="mi300x/notes.md")

    assert [one["path"] for one in removed] == ["mi300x/notes.md"]
    assert not file.exists()
    assert author.send("notes.md", "# Second\n").status_code == 200


def test_a_document_whose_file_is_gone_cannot_be_taken_over(author: Caller, reader: Caller, team: Team) -> None:
    [guide] = [one for one in reader("documents") if one["path"] == "mi300x/guide.md"]
    file, text = Path(guide["source"]), GUIDE
    file.rename(file.with_suffix(".away"))
    try:
        assert author.send("mine.md", text, trust="untrusted").status_code == 422
        assert [one for one in reader("documents") if one["path"] == "mi300x/guide.md"] == [guide]
    finally:
        file.with_suffix(".away").rename(file)


def test_a_file_that_a_kill_left_behind_takes_no_name(author: Caller, reader: Caller, team: Team) -> None:
    folder = team.settings.home / uploads.FOLDER / "mi300x"
    folder.mkdir(parents=True)
    (folder / "notes.md").write_text("# Half of the no")

    assert author.send("notes.md", "# Notes\n").status_code == 200
    assert [one["trust"] for one in reader("documents") if one["path"] == "mi300x/notes.md"] == ["community"]


def test_a_document_includes_nothing_of_the_server(author: Caller, reader: Caller, team: Team) -> None:
    for target in ("../../people.json", str(team.settings.home / "people.json"), "/etc/passwd"):
        text = f"Notes\n=====\n\nzorkbanks\n\n.. include:: {target}\n\n.. literalinclude:: {target}\n"
        assert author.send(f"n{len(target)}.rst", text).status_code == 200

    with sqlite3.connect(team.settings.home / "catalog.sqlite") as db:
        kept = "".join(text for (text,) in db.execute("SELECT text FROM document WHERE source LIKE '%uploads%'"))
    assert "zorkbanks" in kept
    assert not re.search("sha256|root:", kept)


@pytest.mark.parametrize(("name", "content"), [("broken.pdf", "%PDF-1.7 nothing"), ("broken.ipynb", "{")])
def test_what_cannot_be_read_is_not_kept(author: Caller, team: Team, name: str, content: str) -> None:
    answer = author.send(name, content)

    assert answer.status_code == 422
    assert name in answer.json()["message"] or answer.json()["hint"]
    assert [*(team.settings.home / "uploads").rglob("*.*")] == []


def test_a_decision_has_the_name_of_who_took_it(
    author: Caller, curator: Caller, client: TestClient, team: Team
) -> None:
    names = [author("propose_skill", skill=SKILL | {"name": f"pad-the-rows-{way}"})["name"] for way in ("a", "b")]

    curator("decide_skill", skill=names[0], verb="reject", reason="not measured")
    page = client.get(f"/skill?name={names[1]}", headers=team.headers(CURATOR)).text
    [token, *_] = re.findall(r'name="token" value="([^"]+)"', page)
    form = {"token": token, "verb": "reject", "name": names[1], "reason": "nor this", "by": "somebody else"}
    answer = client.post("/skill", data=form, headers=team.headers(CURATOR) | {"origin": ORIGIN})

    assert answer.status_code == 303
    with KnowledgeBase(team.settings) as kb:
        assert [kb.skills.find(name).last_decision.by for name in names] == ["the-curator"] * 2


def test_a_writer_waits_for_another_process(author: Caller, team: Team) -> None:
    released: list[float] = []

    def hold(held: threading.Event) -> None:
        with write_lock(team.settings.home):
            held.set()
            time.sleep(1.5)
            released.append(time.monotonic())

    held = threading.Event()
    other = threading.Thread(target=hold, args=(held,))
    other.start()
    held.wait()
    answer = author.send("notes.md", "# Notes\n")
    done = time.monotonic()
    other.join()

    assert answer.status_code == 200
    assert done > released[0]


def test_a_writer_that_waits_too_long_is_told_so(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(lanes, "WRITE_WAIT_S", 0.1)
    author = request.getfixturevalue("author")
    with write_lock(settings.home):
        answer = author.send("notes.md", "# Notes\n")

    assert answer.status_code == 503
    assert "is being written by" in answer.json()["message"]
    assert not (settings.home / uploads.FOLDER / "mi300x" / "notes.md").exists()


def test_readers_are_answered_while_writers_queue(team: Team, port: int) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=team.headers(CURATOR), timeout=30) as http:
        threads = ThreadPoolExecutor(4)
        with write_lock(team.settings.home):
            sent = [
                threads.submit(http.put, f"/api/documents/mi300x/n{n}.md", content=f"# N{n}\n\nnumber{n} of four.\n")
                for n in range(4)
            ]
            time.sleep(0.3)
            assert http.post("/api/facts", json={"target": "mi300x"}).status_code == 200
            assert http.get("/documents").status_code == 200
            assert not any(one.done() for one in sent)
        assert [one.result().status_code for one in sent] == [200] * 4
        threads.shutdown()


def pdf(*lines: str) -> bytes:
    drawn = Canvas(content := io.BytesIO())
    for number, line in enumerate(lines):
        drawn.drawString(72, 720 - 20 * number, line)
    drawn.save()
    return content.getvalue()


@contextmanager
def served(home: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that serves, and its address."""
    command = [sys.executable, "-m", "kb.cli", "serve", "--port", "0"]
    environment = os.environ | {"KB_HOME": str(home), "KB_EMBEDDING_MODEL": "none"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip().rstrip("/")
        process.terminate()


def write_until_killed(
    address: str, token: str, number: int, fact: str, began: threading.Barrier
) -> list[tuple[str, str]]:
    """What the server acknowledged: names of documents and of skills, and the reasons of decisions."""
    done: list[tuple[str, str]] = []
    with httpx.Client(base_url=address, headers={"authorization": f"Bearer {token}"}, timeout=30) as http:
        for _ in range(1000):
            name = f"w{number}-{len(done)}"
            try:
                if number == 0:
                    answer = http.put(f"/api/documents/mi300x/{name}.md", content=f"# {name}\n\nThe {name} is here.\n")
                elif number == 1:
                    answer = http.post("/api/propose_skill", json={"skill": SKILL | {"name": name}})
                else:
                    given = {"fact": fact, "verb": "reject", "reason": name}
                    answer = http.post("/api/decide_fact", json=given)
                if answer.status_code == 429:  # it sends faster than a person may
                    time.sleep(0.1)
                    continue
                answer.raise_for_status()
            except httpx.TransportError:
                return done
            if not done:
                began.wait(60)
            done.append((("document", "skill", "decision")[number], answer.json()["name"] if number == 1 else name))
    raise AssertionError("it was not killed")


@pytest.mark.parametrize("seconds", [0.6, *[pytest.param(0.3 + 0.37 * n, marks=pytest.mark.slow) for n in range(8)]])
def test_a_kill_loses_nothing_that_was_acknowledged(settings: Settings, seconds: float) -> None:
    tokens = [People(settings.home).add(name, CURATOR) for name in ("carol", "carlos", "chen")]
    headers = {"authorization": f"Bearer {tokens[0]}"}
    with served(settings.home) as (process, address), ThreadPoolExecutor(3) as threads:
        found = httpx.post(f"{address}/api/facts", json={"target": "mi300x"}, headers=headers, timeout=60).json()
        fact = found["facts"][0]["id"]
        began = threading.Barrier(4)
        writing = [threads.submit(write_until_killed, address, token, n, fact, began) for n, token in enumerate(tokens)]
        began.wait(60)
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        done = [one for each in writing for one in each.result()]

    with sqlite3.connect(settings.home / "catalog.sqlite") as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        decided = [reason for (reason,) in db.execute("SELECT reason FROM fact_verdict")]
    with KnowledgeBase(settings) as kb:
        documents = {Path(one.path).stem for one in kb.documents.stored()}
        skills = {one.name for one in kb.skills.known()}
        assert list(kb.skills.problems()) == []
    assert {kind for kind, _ in done} == {"document", "skill", "decision"}
    assert {name for kind, name in done if kind == "document"} <= documents
    assert {name for kind, name in done if kind == "skill"} <= skills
    last = max(int(name[3:]) for kind, name in done if kind == "decision")
    assert decided in ([f"w2-{last}"], [f"w2-{last + 1}"])
    with served(settings.home) as (_, address):
        assert httpx.post(f"{address}/api/skills", json={}, headers=headers, timeout=60).status_code == 200


def test_the_command_serves_its_own_account_without_people_and_ends_on_request(settings: Settings) -> None:
    with served(settings.home) as (process, address):
        assert httpx.get(f"{address}/api", timeout=30).status_code == 200
        assert httpx.post(f"{address}/api/list_runs", timeout=30).json() == []

    assert process.returncode == 143


def test_every_kind_of_document_is_read_in_the_sandbox(settings: Settings) -> None:
    notebook = {
        "cells": [{"cell_type": "markdown", "source": ["# Notes\n", "zorkbanks"]}],
        "metadata": {},
        "nbformat": 4,
    }
    sent = {
        "a.md": b"# Notes\n\nzorkbanks\n",
        "b.rst": b"Notes\n=====\n\nzorkbanks\n\n.. code-block:: cpp\n\n   int main();\n",
        "c.html": b"<h1>Notes</h1><p>zorkbanks</p>",
        "d.ipynb": json.dumps(notebook | {"nbformat_minor": 5}).encode(),
        "e.pdf": pdf("Notes", "zorkbanks"),
        "f.cpp": b"// zorkbanks\nint zorkbanks() { return 1; }\n",
        "g.csv": b"name,banks\nzorkbanks,3\n",
        "h.txt": b"zorkbanks\n",
    }
    with served(settings.home) as (_, address):
        for name, content in sent.items():
            answer = httpx.put(f"{address}/api/documents/mi300x/{name}", content=content, timeout=60)
            assert answer.status_code == 200, (name, answer.text)
        listed = httpx.post(f"{address}/api/documents", json={}, timeout=60).json()

    assert {Path(one["path"]).name for one in listed if one["passages"]} >= set(sent)


@pytest.mark.skipif(sandbox_level() < 2, reason="this machine has no Landlock")
def test_what_reads_documents_that_others_sent_reaches_nothing_else(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "CONFINED_BY", beginning := [])
    sent = home / "uploads"
    sent.mkdir(parents=True)
    for file in (sent / "a.md", home / "people.json", tmp_path / "other.md"):
        file.write_text("text")
    assert reading.confine_readers(home, sent)
    hidden = {
        "the home": f"open({str(home / 'people.json')!r})",
        "its names": f"os.listdir({str(home)!r})",
        "other files": f"open({str(tmp_path / 'other.md')!r})",
        "a file by a way around": f"open({str(sent / '..' / 'people.json')!r})",
        "accounts": "open('/etc/passwd')",
        "a new file": f"open({str(sent / 'b.md')!r}, 'w')",
        "the network": "socket.create_connection(('127.0.0.1', 9), 1)",
        "its parent": "os.kill(os.getppid(), 0)",
    }
    tries = "\n".join(
        f"try:\n    {code}\n    print({what!r})\nexcept PermissionError: pass" for what, code in hidden.items()
    )
    program = f"import os, socket, ingest.readers\nprint(open({str(sent / 'a.md')!r}).read())\n{tries}"

    ran = subprocess.run([*beginning, sys.executable, "-P", "-c", program], capture_output=True, text=True)

    assert (ran.stdout, ran.stderr) == ("text\n", "")


def test_a_fault_of_the_server_tells_nothing_of_it(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object, question: object) -> None:
        raise RuntimeError(f"secret of {team.settings.home}")

    monkeypatch.setattr(lanes.Answering, "ask", fail)
    with TestClient(team.guard, base_url=ORIGIN, raise_server_exceptions=False) as client:
        answer = client.post("/api/targets", headers=team.headers(READER))

    assert answer.status_code == 500
    assert set(answer.json()) == {"message", "hint"}
    assert "secret" not in answer.text


def test_tools_that_run_tasks_are_served_if_a_folder_of_tasks_is_named(team: Team, tmp_path: Path) -> None:
    settings = team.settings.model_copy(update={"task_folders": (tmp_path,)})
    tools = {role: {tool.__name__ for tool in application._tools(settings, team.lanes, role)} for role in Role}

    assert tools[CURATOR] == tools[AUTHOR] == {call.__name__ for call in CALLS if call.__name__.startswith("kb_")}
    assert tools[AUTHOR] - tools[READER] == {
        *("kb_propose_facts", "kb_propose_skill"),
        *("kb_start_run", "kb_submit", "kb_verify", "kb_roofline"),
    }

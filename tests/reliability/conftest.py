"""Processes that ingest and can be killed, documents for them, and all that a catalog holds."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = 40
WORDS = ["bank", "conflict", "register", "file", "cache", "line", "barrier", "prefetch", "swizzle", "tile", "pipeline"]

Dump = dict[str, list[dict[str, Any]]]


@dataclass(slots=True)
class Run:
    """One ingest in a process of its own, as far as it came."""

    pid: int = 0
    stored: list[str] = field(default_factory=list)
    """Paths of the documents that were acknowledged."""
    found: list[str] | None = None
    report: dict[str, Any] | None = None
    """The closing report of an ingest that was interrupted."""
    status: int = 0
    seconds: list[float] = field(default_factory=list)
    """Until the first acknowledgement, from each to the next, from the last to the end."""

    def end(self, number: int = signal.SIGKILL) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


class Ingester:
    """`tests.reliability.ingester`, driven by a test."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.reliability.ingester"],
            cwd=ROOT,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()

    def start(self, home: Path, folder: Path, *, pause: float = 0) -> Iterator[Run]:
        """Begin an ingest that pauses so many seconds after each document.

        Gives the run at once and after each event until the process has ended; a test that stops asking ends it.
        """
        self._order(home=str(home), folder=str(folder), pause=pause)
        run, last, ended = Run(), time.monotonic(), False
        try:
            while not ended:
                event = self._event()
                ended = "status" in event
                run.pid = event.get("pid", run.pid)
                run.found = event.get("found", run.found)
                run.report = event.get("report", run.report)
                run.stored += [event["stored"]] if "stored" in event else []
                run.seconds += [time.monotonic() - last] if event.keys() & {"stored", "found"} else []
                last = time.monotonic()
                run.status = event.get("status", 0)
                yield run
        finally:
            while not ended:
                run.end()
                ended = "status" in self._event()

    def _order(self, **order: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def _event(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the ingester itself ended"
        return json.loads(line)

    def run(self, home: Path, folder: Path) -> Run:
        *_, run = self.start(home, folder)
        assert run.status == 0
        return run

    def kill(self, home: Path, folder: Path, *, after: int, seconds: float, number: int = signal.SIGKILL) -> Run:
        """End an ingest by a signal some time after so many documents were acknowledged."""
        killed = False
        for run in self.start(home, folder):
            if len(run.stored) >= after and not killed and not run.status:
                time.sleep(seconds)
                run.end(number)
                killed = True
        return run


@pytest.fixture(scope="session")
def ingester() -> Iterator[Ingester]:
    if not hasattr(os, "fork"):
        pytest.skip("processes cannot be forked here")
    ingester = Ingester()
    yield ingester
    ingester.close()


def write_documents(folder: Path, *, version: int) -> None:
    """Write documents with prose, code, a fact table, and a section that stands in all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(DOCUMENTS):
        words = random.Random(f"{version} {number}")
        sections = "\n".join(f"## Topic {i}\n\n{' '.join(words.choices(WORDS, k=20))} {i}.\n" for i in range(10))
        (folder / f"doc-{number:02}.md").write_text(
            f"# Document {number}\n\nVersion {version}.\n\n{sections}\n## Same everywhere\n\nBarriers end a stage.\n\n"
            "```c\nbarrier();\n```\n\n| quantity | value | unit | condition | source |\n|---|---|---|---|---|\n"
            f"| lds_size | {number} | KiB | per compute unit | guide {version} |\n"
            f"| l2_size | {number + 1} | MiB |  | guide {version} |\n",
            encoding="utf-8",
        )


@dataclass(frozen=True, slots=True)
class Clean:
    """An ingest that was never killed."""

    folder: Path
    home: Path
    run: Run
    held: Dump


def ingest_cleanly(ingester: Ingester, folder: Path, home: Path, *, version: int) -> Clean:
    write_documents(folder, version=version)
    run = ingester.run(home, folder)
    return Clean(folder, home, run, dump(home))


@pytest.fixture(scope="session")
def clean(ingester: Ingester, tmp_path_factory: pytest.TempPathFactory) -> Clean:
    """An ingest of the first version of the documents, whose folder no test changes."""
    root = tmp_path_factory.mktemp("clean")
    return ingest_cleanly(ingester, root / "chip-x", root / "home", version=1)


TABLES = {
    "document": "SELECT * FROM document",
    "section": "SELECT d.source AS of_source, s.* FROM section s JOIN document d ON d.id = s.document_id",
    "chunk": """SELECT d.source AS of_source, c.*, l.title, l.heading, l.body, l.path, l.identifiers
                FROM chunk c JOIN document d ON d.id = c.document_id LEFT JOIN lexical l ON l.rowid = c.id""",
    "embedded": """SELECT d.source AS of_source, c.ordinal AS of_chunk, e.* FROM embedded e
                   JOIN chunk c ON c.id = e.chunk_id JOIN document d ON d.id = c.document_id""",
    "vector": """SELECT d.source AS of_source, c.ordinal AS of_chunk, e.*, v.* FROM embedded e
                 JOIN chunk c ON c.id = e.chunk_id JOIN document d ON d.id = c.document_id
                 JOIN vector v ON v.text_digest = e.text_digest""",
    "unembedded": "SELECT * FROM unembedded",
    "fact": "SELECT d.source AS of_source, f.* FROM fact f JOIN document d ON d.id = f.document_id",
    "orphan": """SELECT 'lexical' AS what, rowid FROM lexical WHERE rowid NOT IN (SELECT id FROM chunk)
                 UNION ALL SELECT 'chunk', id FROM chunk WHERE document_id NOT IN (SELECT id FROM document)
                 UNION ALL SELECT 'fact', id FROM fact WHERE document_id NOT IN (SELECT id FROM document)""",
}
NUMBERS = ("id", "document_id", "chunk_id")
"""Row numbers, which depend on the order of writing."""


def dump(home: Path) -> Dump:
    """All that the catalog of `home` holds, read behind kb's back and sorted, so that a row that is twice shows."""
    db = sqlite3.connect(home / "catalog.sqlite")
    db.row_factory = sqlite3.Row
    db.execute("BEGIN")  # one state, whatever a writer does meanwhile
    held = {
        table: sorted(({k: v for k, v in dict(row).items() if k not in NUMBERS} for row in db.execute(query)), key=repr)
        for table, query in TABLES.items()
    }
    db.close()
    return held


def of_sources(held: Dump, sources: set[str]) -> Dump:
    """The part of a dump that is of the documents `sources`."""
    return {
        table: [row for row in rows if row.get("of_source", row.get("source")) in sources]
        for table, rows in held.items()
    }


def agrees(held: Dump, whole: Dump) -> bool:
    """Whether the documents in `held` are as in `whole`, where each text that lacks its vector waits for it."""
    with_vectors = {(row["of_source"], row["of_chunk"], row["ordinal"]): row for row in whole["vector"]}
    own = [with_vectors[row["of_source"], row["of_chunk"], row["ordinal"]] for row in held["embedded"]]
    waiting = {row["text_digest"] for row in held["unembedded"]}
    later = "vector", "unembedded"
    return (
        held["vector"] == [row for row in own if row["text_digest"] not in waiting]
        and waiting.isdisjoint(row["text_digest"] for row in held["vector"])
        and {t: rows for t, rows in held.items() if t not in later}
        == {t: rows for t, rows in of_sources(whole, sources(held)).items() if t not in later}
    )


def sources(held: Dump) -> set[str]:
    return {row["source"] for row in held["document"]}


def agreement(found: list[list[str]], right: list[list[str]]) -> float:
    """Share of the right hits that were found. A Chroma index is approximate: one build in 25 misses one candidate."""
    return sum(len(set(a) & set(b)) for a, b in zip(found, right, strict=True)) / sum(map(len, right))

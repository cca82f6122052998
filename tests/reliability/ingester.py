"""Ingests in a child process for each order on its input, so that a test may interrupt or kill it at any moment.

The children are forked from a process that has all libraries loaded, as a test needs dozens. Orders and events are JSON
lines. An order has `home`, `folder` and `pause`, the seconds to wait after each document. Events are `pid`, `stored`
(once a document is acknowledged), `found` (what a search finds when the ingest is done, by a vector index that it
published), `report` (of an ingest that was interrupted) and at last `status`.
"""

import hashlib
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import chromadb  # noqa: F401, TID253 - loaded once, before the forks
import numpy as np
import typer

from ingest import reading
from ingest.readers import read
from ingest.reading import ReadFile
from ingest.scan import seen
from kb.cli.interrupts import interruptible
from kb.settings import Settings
from kb.types.documents import IngestInterrupted, Progress
from kb.usecases.knowledge_base import KnowledgeBase
from tests.conftest import HashEmbedder

SECONDS_PER_TEXT = 0.0002
"""Slow enough for a kill to land while documents are embedded."""
QUESTION = "bank conflict of the register file"


class ReadsHere:
    """Reads in this process, in place of `reading._Process`: to start one takes longer than to read the documents."""

    def __init__(self, *_: object) -> None: ...

    def read(self, path: Path, root: Path) -> ReadFile:
        content = path.read_bytes()
        return ReadFile(hashlib.sha256(content).hexdigest(), json.dumps([seen(path)]), read(path, content, root=root))

    def kill(self) -> None: ...

    def end(self) -> None: ...


class SlowEmbedder(HashEmbedder):
    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        time.sleep(SECONDS_PER_TEXT * len(texts))
        return super().embed_documents(texts)


def tell(**event: object) -> None:
    """In one write: a kill never leaves half a line."""
    os.write(1, json.dumps(event).encode() + b"\n")


def load() -> None:
    """Load what an ingest and a search need; a fork inherits it. Chroma's threads, which it would not, do not start."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "a.md").write_text("# Title\n\nA text of 1 KiB.\n", encoding="utf-8")
        with KnowledgeBase(Settings(home=Path(folder) / "home"), embedder=HashEmbedder()) as kb:
            kb.ingest([Path(folder) / "a.md"], target="any")
            kb.search("text")


def ingest(home: Path, folder: Path, pause: float) -> None:
    def stored(at: Progress) -> None:
        if at.file:
            tell(stored=at.file.path)
            time.sleep(pause)

    tell(pid=os.getpid())
    with KnowledgeBase(Settings(home=home, exact_vectors=0), embedder=SlowEmbedder()) as kb:
        try:
            kb.ingest([folder], progress=stored)
        except IngestInterrupted as interrupt:
            tell(report=interrupt.report.model_dump(mode="json"))
            raise
        tell(found=[hit.passage.citation.id for hit in kb.search(QUESTION, limit=20).hits])


def ingest_and_end(home: Path, folder: Path, pause: float) -> None:
    """Never return: this is a fork of a process that has more orders to read."""
    try:
        with interruptible():
            ingest(home, folder, pause)
    except typer.Exit as ended:
        os._exit(ended.exit_code)
    os._exit(0)


def main() -> None:
    reading._Process = ReadsHere  # type: ignore[assignment, misc]
    load()
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            ingest_and_end(Path(order["home"]), Path(order["folder"]), order["pause"])
        tell(status=os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    main()

"""Helpers for the tests of a whole ingest."""

import os
from pathlib import Path

from kb.types.documents import IngestReport
from kb.usecases.knowledge_base import KnowledgeBase


def outcomes(report: IngestReport) -> dict[str, str]:
    return {f.path.removeprefix("manuals/"): f.outcome for f in report.files}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 1_000_000))


def found(kb: KnowledgeBase, question: str, target: str = "mi300x") -> str:
    return "\n".join(hit.passage.text for hit in kb.search(question, target=target, limit=50).hits)

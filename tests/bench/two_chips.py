"""Documents of two sibling chips, and questions about them."""

from pathlib import Path
from typing import Any

from kb.bench.questions import Question
from kb.usecases.knowledge_base import KnowledgeBase

LDS = {"path": "mi210/memory.md", "must": ["64 KB", "LDS|local data share"]}


def question(**fields: Any) -> Question:
    return Question.model_validate({"id": "q", "query": "LDS size", "target": "mi210", "evidence": [LDS]} | fields)


ASKED = [
    question(id="own", reject=["96 KB"], phrasings=["local data share per compute unit"]),
    question(id="all", target=None, query="LDS of 64 KB"),
    question(id="unreachable", query="events of the cache", evidence=[LDS | {"must": ["not there"]}]),
    question(id="unknown", query="throughput of TDPBSSD", evidence=[]),
]


def ingest_two_chips(kb: KnowledgeBase, folder: Path) -> None:
    for target, size in (("mi210", "64 KB"), ("mi250", "96 KB")):
        (folder / target).mkdir(parents=True)
        text = f"# Memory\n\n## Local data share\n\nEach compute unit has {size} of local data share (LDS).\n"
        filler = "\n".join(f"## Counter {n}\n\nCounts event {n} of the cache.\n" for n in range(30))
        (folder / target / "memory.md").write_text(text + filler, encoding="utf-8")
        kb.ingest([folder / target])


def quiet(done: int, total: int) -> None:
    """The progress of a test that shows none."""

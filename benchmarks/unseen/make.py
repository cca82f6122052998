"""Writes everything that belongs to a seed into a folder: documents, questions, facts, toolchain, tasks."""

import json
from collections.abc import Iterable
from pathlib import Path

from benchmarks.unseen.gold import contradictions, facts, needed, questions
from benchmarks.unseen.manual.library import Library, library
from benchmarks.unseen.manual.writers import written
from benchmarks.unseen.toolchain import write, write_tasks

DOCUMENTS, QUESTIONS, FACTS, CONTRADICTIONS = "documents", "questions.jsonl", "facts.jsonl", "contradictions.jsonl"
NEEDED = "needed.json"
TOOLCHAIN, TASKS = "toolchain", "tasks"


def make(seed: int, folder: Path) -> Library:
    """Write the documents of a seed, what a perfect answer to them holds, the tasks, and the toolchain for kb."""
    made = library(seed)
    for document in made.documents:
        path = folder / DOCUMENTS / document.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(written(document))
    for name, rows in ((QUESTIONS, questions(made)), (FACTS, facts(made)), (CONTRADICTIONS, contradictions(made))):
        _write_lines(folder / name, rows)
    (folder / NEEDED).write_text(json.dumps(needed(made), indent=1) + "\n", encoding="utf-8")
    write(seed, folder / TOOLCHAIN)
    write_tasks(folder / TASKS)
    return made


def _write_lines(file: Path, rows: Iterable[object]) -> None:
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")

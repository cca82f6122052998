"""Real manuals: the share of gold facts (found by reading) that kb also finds must not fall.

Only for targets on which the extraction was tuned; the other half is reserved for benchmarks/facts.py.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from ingest.extract import extracted
from ingest.extract.subjects import Subjects
from ingest.readers import read
from kb.facts.resolution import same_value
from kb.facts.select import conditions
from kb.types.fact import Fact
from kb.types.records import FactRecord
from tests.conftest import CORPUS, needs_corpus
from tests.facts.documents import TARGETS, fact

GOLD = Path(__file__).with_name("gold")
FOUND = {"mi300x": 0.36, "hopper": 0.51, "google-tpu": 0.51}
"""Share of the gold facts of each folder that kb finds in their document, 2026-11-22; the others stand in prose."""
RIGHT = {"mi300x": 0.93, "hopper": 0.89, "google-tpu": 0.87}
"""Share of the values that kb reads from lines of gold facts, for their target and quantity, that are gold facts."""
SLACK = 0.03

every_folder = pytest.mark.parametrize("folder", FOUND)
pytestmark = pytest.mark.slow


@cache
def gold(folder: str) -> list[tuple[dict[str, str], Fact]]:
    """Return the gold facts of a folder: place and content."""
    entries = [json.loads(line) for line in (GOLD / f"{folder}.jsonl").read_text(encoding="utf-8").splitlines()]
    return [
        (e, fact(e["value"], e["unit"], ", ".join(e["condition"]), quantity=e["quantity"],
                 target=TARGETS.get(e["target"]).name))
        for e in entries
    ]  # fmt: skip


@cache
def found(folder: str) -> dict[str, list[tuple[Fact, range]]]:
    """Return the facts that kb reads from each document with gold facts, and the lines they cite."""
    facts = defaultdict(list)
    for path in sorted({entry["path"] for entry, _ in gold(folder)}):
        for record, lines in _read(CORPUS / path):
            said = fact(
                record.value, record.unit, record.condition, quantity=record.quantity, target=record.target,
                form=record.form,
            )  # fmt: skip
            facts[path].append((said, lines))
    return facts


def _read(file: Path) -> Iterator[tuple[FactRecord, range]]:
    parts = file.relative_to(CORPUS).parts
    document = read(file, file.read_bytes(), root=CORPUS / parts[0])
    title = document.metadata.get("title") or (document.sections[0].title if document.sections else file.stem)
    subjects = Subjects(TARGETS, TARGETS.of_path(parts[:-1]) or parts[0])
    for record in extracted(document, title=title, subjects=subjects):
        first, last = (document.text.count("\n", 0, at) for at in (record.start, max(record.start, record.end - 1)))
        yield record, range(document.lines[first], document.lines[last] + 1)


def says(stated: Fact, wanted: Fact) -> bool:
    """Whether both state the same value of the same target, under all conditions of the gold fact."""
    return (
        (stated.target, stated.quantity) == (wanted.target, wanted.quantity)
        and same_value(stated, wanted)
        and conditions(wanted) - {"per device"} <= conditions(stated)
    )


def share(folder: str) -> float:
    hits = [any(says(stated, wanted) for stated, _ in found(folder)[entry["path"]]) for entry, wanted in gold(folder)]
    return sum(hits) / len(hits)


@needs_corpus
@every_folder
def test_gold_facts_are_found(folder: str) -> None:
    assert share(folder) >= FOUND[folder] - SLACK


@needs_corpus
@every_folder
def test_values_read_from_the_line_of_a_gold_fact_are_gold_facts(folder: str) -> None:
    agree = [
        any(same_value(stated, other) for other in at_line(folder, entry))
        for entry, wanted in gold(folder)
        for stated, lines in found(folder)[entry["path"]]
        if int(entry["line"]) in lines and (stated.target, stated.quantity) == (wanted.target, wanted.quantity)
    ]

    assert agree
    assert sum(agree) / len(agree) >= RIGHT[folder] - SLACK


def at_line(folder: str, place: dict[str, str]) -> list[Fact]:
    return [w for entry, w in gold(folder) if (entry["path"], entry["line"]) == (place["path"], place["line"])]


@needs_corpus
@every_folder
def test_the_value_of_a_gold_row_is_given_to_the_gold_target(folder: str) -> None:
    strays = [
        (entry["path"], entry["line"], wanted.quantity, wanted.target)
        for entry, wanted in gold(folder)
        if (owners := owners_of(folder, entry, wanted)) and wanted.target not in owners
    ]

    assert strays == []


def owners_of(folder: str, entry: dict[str, str], wanted: Fact) -> set[str]:
    """Return the targets that get the value of a gold fact when kb reads its one-line table row."""
    return {
        stated.target
        for stated, lines in found(folder)[entry["path"]]
        if lines == range(int(entry["line"]), int(entry["line"]) + 1)
        and (stated.quantity, stated.value) == (wanted.quantity, wanted.value)
    }

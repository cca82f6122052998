"""Real manuals: the share of facts found in them by reading that kb finds too does not fall.

Of the half of the targets that the reading was tuned on; the other half is for benchmarks/facts.py alone.
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
from kb.catalog import FactRecord
from kb.facts.profile import same_value
from kb.facts.select import conditions
from kb.model.fact import Fact
from kb.model.records import Form
from tests.conftest import CORPUS, needs_corpus
from tests.facts.documents import TARGETS, fact

GOLD = Path(__file__).with_name("gold")
FOUND = {"mi300x": 0.8, "hopper": 0.82, "google-tpu": 0.8}
"""Share of the gold facts of each folder that are found in the document they are of, 2026-11-22."""
SURE = {"mi300x": 0.36, "hopper": 0.51, "google-tpu": 0.51}
"""Share that is found in a table whose labels are understood whole."""
RIGHT = {"mi300x": 0.93, "hopper": 0.89, "google-tpu": 0.87}
"""Share of the values read off the lines of gold facts, for their target and quantity, that were read there too."""
SLACK = 0.03

every_folder = pytest.mark.parametrize("folder", FOUND)
pytestmark = pytest.mark.slow


@cache
def gold(folder: str) -> list[tuple[dict[str, str], Fact]]:
    """What was found by reading: place, and what it says."""
    entries = [json.loads(line) for line in (GOLD / f"{folder}.jsonl").read_text(encoding="utf-8").splitlines()]
    return [
        (e, fact(e["value"], e["unit"], ", ".join(e["condition"]), quantity=e["quantity"],
                 target=TARGETS.get(e["target"]).name))
        for e in entries
    ]  # fmt: skip


@cache
def found(folder: str) -> dict[str, list[tuple[Fact, range]]]:
    """What kb reads off each document that a gold fact is of: with the lines that it cites."""
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
    """The same value of the same target, under all conditions of the gold fact."""
    return (
        (stated.target, stated.quantity) == (wanted.target, wanted.quantity)
        and same_value(stated, wanted)
        and conditions(wanted) - {"per device"} <= conditions(stated)
    )


def share(folder: str, *forms: Form) -> float:
    hits = [
        any(says(stated, wanted) and stated.form in forms for stated, _ in found(folder)[entry["path"]])
        for entry, wanted in gold(folder)
    ]
    return sum(hits) / len(hits)


@needs_corpus
@every_folder
def test_what_was_found_by_reading_is_found(folder: str) -> None:
    assert share(folder, *Form) >= FOUND[folder] - SLACK


@needs_corpus
@every_folder
def test_what_is_found_in_tables_needs_no_second_document(folder: str) -> None:
    assert share(folder, Form.TABLE) >= SURE[folder] - SLACK


@needs_corpus
@every_folder
def test_what_is_read_off_a_line_of_a_gold_fact_is_what_was_read_there(folder: str) -> None:
    agree = [
        any(same_value(stated, other) for other in at_line(folder, entry))
        for entry, wanted in gold(folder)
        for stated, lines in found(folder)[entry["path"]]
        if int(entry["line"]) in lines and (stated.target, stated.quantity) == (wanted.target, wanted.quantity)
    ]

    assert len(agree) > 10
    assert sum(agree) / len(agree) >= RIGHT[folder] - SLACK


def at_line(folder: str, place: dict[str, str]) -> list[Fact]:
    return [w for entry, w in gold(folder) if (entry["path"], entry["line"]) == (place["path"], place["line"])]


@needs_corpus
@every_folder
def test_a_value_of_a_gold_row_is_given_to_the_target_it_was_given_to(folder: str) -> None:
    strays = [
        (entry["path"], entry["line"], wanted.quantity, wanted.target)
        for entry, wanted in gold(folder)
        if (owners := owners_of(folder, entry, wanted)) and wanted.target not in owners
    ]

    assert strays == []


def owners_of(folder: str, entry: dict[str, str], wanted: Fact) -> set[str]:
    """Whom the value of a gold fact is given to, read off a table row of one line."""
    return {
        stated.target
        for stated, lines in found(folder)[entry["path"]]
        if lines == range(int(entry["line"]), int(entry["line"]) + 1)
        and (stated.quantity, stated.value, stated.form) == (wanted.quantity, wanted.value, Form.TABLE)
    }

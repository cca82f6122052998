"""Shared by the tests of facts: facts read from a Markdown text, and facts made by hand."""

from itertools import count
from pathlib import Path
from typing import NamedTuple

from hypothesis import settings

from ingest.builder import ParsedDocument
from ingest.extract import extracted
from ingest.extract.subjects import Subjects
from ingest.readers import read
from kb.targets import Targets
from kb.types.fact import Fact
from kb.types.passages import Citation
from kb.types.records import FactRecord, Form, Trust

PROPERTY = settings(derandomize=True, deadline=None, max_examples=30)
FACT_HEADER = "| quantity | value | unit | condition | source |\n|---|---|---|---|---|\n"
TARGETS = Targets.load(Path("/nowhere"))

_numbers = count()


class Said(NamedTuple):
    """The content of a fact, without its place."""

    target: str
    quantity: str
    value: str
    unit: str = "1"
    condition: str = ""


def parse(text: str) -> ParsedDocument:
    return read(Path("guide.md"), text.encode(), root=Path("/"))


def records(text: str, *, target: str = "mi300x", title: str = "Guide") -> list[FactRecord]:
    """Return the facts that kb reads from a Markdown document of `target`."""
    return list(extracted(parse(text), title=title, subjects=Subjects(TARGETS, target)))


def said(text: str, *, target: str = "mi300x", title: str = "Guide") -> set[Said]:
    return {Said(r.target, r.quantity, r.value, r.unit, r.condition) for r in records(text, target=target, title=title)}


def table(*rows: str) -> str:
    """Return a Markdown table; each row is given as cells separated by bars."""
    header, *others = (f"| {row} |" for row in rows)
    return "\n".join([header, "|---" * (rows[0].count("|") + 1) + "|", *others]) + "\n"


def fact(
    value: str,
    unit: str = "KiB",
    condition: str = "per compute unit",
    *,
    quantity: str = "lds_size",
    target: str = "mi300x",
    form: Form = Form.TABLE,
    trust: Trust = Trust.VENDOR,
    document: str = "guide",
    path: str = "",
    version: str = "",
    section: str = "",
    key: str = "",
    quote: str = "",
) -> Fact:
    """Return a fact with its own id and, by default, its own words; facts in one section share a table."""
    number = next(_numbers)
    citation = Citation(
        id=key or f"{number:012x}",
        path=path or f"docs/{document}.md",
        sha256=document,
        section=(section or str(number),),
        line_start=1,
        line_end=1,
    )
    plain = value.replace(".", "", 1).isdecimal()
    return Fact(
        target=target, quantity=quantity, value=value, number=float(value) if plain else None, unit=unit,
        condition=condition, source="", citation=citation, trust=trust, form=form, version=version,
        quote=quote or f"{number}: {value}",
    )  # fmt: skip

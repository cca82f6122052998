"""Check that the cells of real tables stand in their row and under their header.

Each line of `tables.jsonl` is a table of the corpus, chosen from the raw file: `path`, `line` (for a PDF, the page),
`kind`, and `cells` with the text of the row's key cell, the header (stacked ones joined by ' / ', empty if the table
has none) and the value.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ingest.builder import Block, BlockKind, ParsedDocument, Table
from ingest.readers import format_of, read
from kb.errors import DocumentError

GOLD = Path(__file__).with_name("tables.jsonl")
MARKS = re.compile(r"[\s`*_\\~^()]")
NEAR_LINES = 12
"""A table may begin this many lines below the given line, because its directive has options."""
PHRASE_CHARACTERS = 6
"""A value of at least this length may stand among other words; a shorter one must be the whole cell."""


class Cell(NamedTuple):
    row: str
    column: str
    value: str


class Gold(NamedTuple):
    path: str
    line: int
    kind: str
    cells: tuple[Cell, ...]

    def __str__(self) -> str:
        return f"{self.path}:{self.line} ({self.kind})"


class Fault(NamedTuple):
    table: Gold
    cell: Cell
    reason: str


def gold_tables() -> list[Gold]:
    lines = map(json.loads, GOLD.read_text(encoding="utf-8").splitlines())
    return [Gold(**{**line, "cells": tuple(Cell(**cell) for cell in line["cells"])}) for line in lines]


def faults(tables: Sequence[Gold], corpus: Path) -> Iterator[Fault]:
    """Yield the cells that are not found; each document is read once."""
    by_path = defaultdict(list)
    for table in tables:
        by_path[table.path].append(table)
    for name, wanted in by_path.items():
        path = corpus / name
        if format_of(path) is None:
            yield from (Fault(table, cell, "no reader") for table in wanted for cell in table.cells)
            continue
        try:
            document = read(path, path.read_bytes(), root=corpus / Path(name).parts[0])
        except DocumentError as error:
            yield from (Fault(table, cell, str(error)) for table in wanted for cell in table.cells)
            continue
        for table in wanted:
            blocks = _near(document, table)
            search = _console_fault if table.kind == "console" else _table_fault
            for cell in table.cells:
                if reason := search(document, blocks, cell):
                    yield Fault(table, cell, reason)


def _near(document: ParsedDocument, table: Gold) -> list[Block]:
    slack = 0 if table.kind == "pdf" else NEAR_LINES
    found = []
    for block in document.blocks:
        if block.kind in (BlockKind.CODE, BlockKind.TABLE):
            first = document.text.count("\n", 0, block.start)
            last = first + document.text.count("\n", block.start, block.end)
            if document.lines[first] - slack <= table.line <= document.lines[last] + 1:
                found.append(block)
    return found


def _console_fault(document: ParsedDocument, blocks: Sequence[Block], cell: Cell) -> str:
    """Return why no line holds both key and value; empty if one does."""
    lines = [line for block in blocks for line in document.text[block.start : block.end].split("\n")]
    return "" if any(cell.row in line and cell.value in line for line in lines) else "no line with key and value"


def _table_fault(_: ParsedDocument, blocks: Sequence[Block], cell: Cell) -> str:
    """Return the reason from the table that matches best."""
    reasons = [_reason(block.table, cell) for block in blocks if block.table]
    return min(reasons, default=(0, "no table near the line"))[1]


def _reason(table: Table, cell: Cell) -> tuple[int, str]:
    """Return the number of stages not passed, and why; 0 and an empty reason if the cell is right."""
    rows = [row for row in table.rows if _plain(cell.row) in map(_plain, row.cells)]
    rows = rows or [row for row in table.rows if any(_says(text, cell.row) for text in row.cells)]
    if not rows:
        return 3, "no row with the key"
    columns = _columns(table, cell.column)
    if not columns:
        return 2, f"no such column in {table.header}"
    values = [row.cells[column] for row in rows for column in columns]
    return (0, "") if any(_says(value, cell.value) for value in values) else (1, f"found {values[:3]}")


def _columns(table: Table, column: str) -> Sequence[int]:
    if not column:
        return range(len(table.rows[0].cells))
    # If a document marks no header, a reader takes the first row for one.
    headers = [_plain(header) for header in table.header or table.rows[0].cells]
    parts = [_plain(part) for part in column.split(" / ")]
    exact = [i for i, header in enumerate(headers) if header == "/".join(parts)]
    return exact or [i for i, header in enumerate(headers) if all(part in header for part in parts)]


def _says(text: str, value: str) -> bool:
    plain, wanted = _plain(text), _plain(value)
    return plain == wanted or (len(wanted) >= PHRASE_CHARACTERS and wanted in plain)


def _plain(text: str) -> str:
    return MARKS.sub("", text)

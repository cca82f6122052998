"""Read facts from tables whose header marks them as fact tables; nothing is guessed from any other table."""

import math
import re
from collections.abc import Iterator, Sequence

from ingest.builder import Block, BlockKind, ParsedDocument, Table
from kb.facts.quantities import NAME, quantities
from kb.siblings import Siblings
from kb.types.fact import RANGE
from kb.types.records import FactRecord
from kb.types.units import unit_of

HEADER = ("quantity", "value", "unit", "condition", "source")
MAY_BE_EMPTY = {"condition"}

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?", re.IGNORECASE)
_SHAPE = re.compile(r"\d+(?:x\d+)+")


def facts(document: ParsedDocument, *, title: str, siblings: Siblings) -> tuple[list[FactRecord], list[str]]:
    """Return the facts of `document`, and a message for each refused row that gives the reason.

    A row is about another chip if it names that chip, or else the caption, the line above the table or the nearest
    heading that names any does: then its fact is that chip's, or nobody's if kb does not know the chip.
    """
    found: list[FactRecord] = []
    refused: list[str] = []
    tables = [(b, b.table.rows, above) for b, above in introduced(document) if b.table and is_fact_table(b.table)]
    if "facts" in document.metadata and not tables:
        refused.append(
            f"no facts were read: no table has the header | {' | '.join(HEADER)} |; put it back above the rows"
        )
    for block, row, above in ((block, row, above) for block, rows, above in tables for row in rows):
        quantity, value, unit, condition, source = row.cells
        number = _number(value)
        owners = siblings.owners((title, *document.trail(block.section), above, " | ".join(row.cells[:-1])))
        unknown = [name for name in owners if name not in siblings.known]
        reason = _refusal(row.cells, number) or (f"it is about {', '.join(unknown)}" if unknown else "")
        if reason:
            refused.append(f"fact refused ({reason}): {' | '.join(row.cells)}")
        else:
            found += [
                FactRecord(block.section, owner, quantity, value, number, unit, condition, source, row.start, row.end)
                for owner in owners
            ]
    return found, refused


def _refusal(cells: Sequence[str], number: float | None) -> str:
    """Say why a row is no fact; empty if it is one."""
    if empty := [name for name, cell in zip(HEADER, cells, strict=True) if not cell and name not in MAY_BE_EMPTY]:
        return f"no {empty[0]}"
    quantity, value, unit, *_ = cells
    known, counted = quantities().by_name.get(quantity), unit_of(unit)
    if known and counted and not known.counts(counted):
        return f"{quantity} is counted in {known.unit}, not in {unit}"
    is_value = number is not None or _SHAPE.fullmatch(value) or RANGE.fullmatch(value) or unit == NAME
    return "" if is_value else f"{value!r} is no number, range or shape; a value in words has the unit {NAME!r}"


def is_fact_table(table: Table) -> bool:
    return tuple(cell.lower() for cell in table.header) == HEADER


def introduced(document: ParsedDocument) -> Iterator[tuple[Block, str]]:
    """Yield each block, a table with its caption or else with the paragraph above it that ends with a colon."""
    above = ""
    for block in document.blocks:
        yield block, (block.table.caption if block.table else "") or above
        text = document.text[block.start : block.end].rstrip("*_ ")
        above = text if block.kind is BlockKind.TEXT and text.endswith(":") else ""


def _number(text: str) -> float | None:
    """Return None if `text` is not a number, or is too large for a float."""
    number = float(text) if _NUMBER.fullmatch(text) else math.inf
    return number if math.isfinite(number) else None

"""Read facts from tables whose header marks them as fact tables; nothing is guessed from any other table."""

import math
import re
from collections.abc import Iterator

from ingest.builder import Block, ParsedDocument, Row, Table
from kb.catalog import FactRecord
from kb.facts.quantities import quantities
from kb.model.units import unit_of

HEADER = ("quantity", "value", "unit", "condition", "source")
MAY_BE_EMPTY = {"condition"}

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?", re.IGNORECASE)
_SHAPE = re.compile(r"\d+(?:x\d+)+")


def facts(document: ParsedDocument, *, target: str) -> tuple[list[FactRecord], list[str]]:
    """Return the facts of `document`, and a message for each refused row that gives the reason."""
    found: list[FactRecord] = []
    refused: list[str] = []
    for block, row in _fact_rows(document):
        fields = dict(zip(HEADER, row.cells, strict=True))
        number = _number(fields["value"])
        if empty := [name for name, value in fields.items() if not value and name not in MAY_BE_EMPTY]:
            refused.append(f"fact refused (no {empty[0]}): {' | '.join(row.cells)}")
        elif mismatch := _mismatch(fields["quantity"], fields["unit"]):
            refused.append(f"fact refused ({mismatch}): {' | '.join(row.cells)}")
        elif number is None and not _SHAPE.fullmatch(fields["value"]):
            refused.append(
                f"fact refused ({fields['value']!r} is neither a number nor a shape): {' | '.join(row.cells)}"
            )
        else:
            quantity, value, unit, condition, source = row.cells
            found.append(
                FactRecord(block.section, target, quantity, value, number, unit, condition, source, row.start, row.end)
            )
    return found, refused


def _mismatch(quantity: str, unit: str) -> str:
    """Say why a known quantity cannot be counted in `unit`; empty if it can."""
    known, counted = quantities().by_name.get(quantity), unit_of(unit)
    if known is None or counted is None or known.counts(counted):
        return ""
    return f"{quantity} is counted in {known.unit}, not in {unit}"


def is_fact_table(table: Table) -> bool:
    return tuple(cell.lower() for cell in table.header) == HEADER


def _fact_rows(document: ParsedDocument) -> Iterator[tuple[Block, Row]]:
    for block in document.blocks:
        if block.table and is_fact_table(block.table):
            for row in block.table.rows:
                yield block, row


def _number(text: str) -> float | None:
    """Return None if `text` is not a number, or is too large for a float."""
    number = float(text) if _NUMBER.fullmatch(text) else math.inf
    return number if math.isfinite(number) else None

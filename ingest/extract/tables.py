"""Facts from tables: column and row together say what a number means."""

import re
from collections.abc import Iterator, Sequence

from ingest.builder import Row, Table
from ingest.extract.cells import begins_with_value, cell_facts, only_value, plain
from ingest.extract.labels import Label
from ingest.extract.subjects import UNKNOWN, Subjects
from kb.types.records import FactRecord

_CAPABILITY_TABLE = re.compile(r"(?i:compute capabilit|sm version)|^\s*CC\s*$")
_NO_HARDWARE = re.compile(
    r"\b(?:measured|achieved|utili[sz]\w+|benchmark\w*|results?|speedup|latency|runtime|throughput test|observed|ours|"
    r"baseline|duration|avg|average|mean|median|pct|percent\s+of\s+peak|elapsed|invocations|"
    r"config\w*|tuning|examples?|manufacturers?|accuracy)\b",
    re.IGNORECASE,
)
"""Words in headings and headers of tables that report how programs ran, list their settings, or list parts that go with
a chip: memories by manufacturer, crystals by accuracy."""


def table_facts(table: Table, *, headings: Sequence[str], above: str = "", subjects: Subjects) -> Iterator[FactRecord]:
    """Yield the facts of one table whose owners are named and whose labels are fully understood.

    Spans are in the document.

    Args:
        headings: Headings above the table, outermost first.
        above: Caption or line that introduces the table: it may name whose the numbers are.
    """
    header = tuple(map(plain, table.header))
    context = [plain(text) for text in (table.caption, *reversed(headings))]
    if any(map(_NO_HARDWARE.search, (*header, *context[:2]))):
        return
    owners = _Owners(table, header, [plain(above), *context], subjects)
    if not owners.named:
        return
    for row in table.rows:
        texts = tuple(map(plain, row.cells))
        for column, text in enumerate(texts):
            beside = [cell for cell in texts[:column] if not begins_with_value(cell)][:2]
            above = header[column] if column < len(header) else ""
            if (targets := owners.of(row, column)) and not (owners.is_item(row) and _is_of_row(beside, above)):
                labels = [*beside, above] if owners.of_column(column) else [above, *beside]
                yield from cell_facts(text, row.spans[column], targets, labels, context[:2], subjects)


def _is_of_row(beside: Sequence[str], above: str) -> bool:
    """Whether only the header says what the number counts: the bank of each pin is no number of banks."""
    counted = {quantity for quantity in Label(above).quantities if quantity.unit == "1"}
    return bool(counted.difference(*(Label(label).quantities for label in beside)))


class _Owners:
    def __init__(self, table: Table, header: Sequence[str], context: Sequence[str], subjects: Subjects) -> None:
        """`context` is what introduces the table, its caption and its headings, innermost first."""
        self._subjects = subjects
        self._capability = any(_CAPABILITY_TABLE.search(text) for text in (*header, *context[1:3]))
        self._columns = [self._named(text) for text in header]
        self._rows = self._of_rows([[plain(cell) for cell in row.cells] for row in table.rows])
        self._index = {row.start: index for index, row in enumerate(table.rows)}
        self._by_row = any(self._rows)
        self._by_column = any(self._columns[1:])
        self._around = subjects.of_headings(reversed(context))
        self.named = self._by_row or self._by_column or bool(self._around)
        """Whether the table, its caption or a heading names the owners of the numbers."""

    def of_column(self, column: int) -> tuple[str, ...]:
        return self._columns[column] if column < len(self._columns) else ()

    def is_item(self, row: Row) -> bool:
        """Whether a row may be a thing of the owner, such as one of its pins: nothing names a product there."""
        return len(self._rows) > 1 and not self._by_column and not self._rows[self._index[row.start]]

    def of(self, row: Row, column: int) -> tuple[str, ...]:
        """Return the owners of a cell; empty if its row or column belongs to an unknown product."""
        by_row = self._rows[self._index[row.start]]
        is_product = self._by_row and (by_row or not Label(plain(row.cells[0])).quantities)
        owners = self._around or (self._subjects.own,)
        if self._by_column or is_product:
            by_column = self.of_column(column) if self._by_column else ()
            owners = self._subjects.most_specific((*by_column, *(by_row if is_product else ())))
        return () if UNKNOWN in owners else owners

    def _of_rows(self, rows: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
        """Return the targets of each row. The first column counts if it names any product, another if it names many."""
        named: list[list[str]] = [[] for _ in rows]
        for column in range(max(map(len, rows), default=0)):
            cells = [row[column] if column < len(row) else "" for row in rows]
            names = [self._named(cell) if column == 0 or only_value(cell) is None else () for cell in cells]
            products = sum(not set(found) <= self._subjects.above for found in names)
            if products * 3 >= sum(bool(cell.strip()) for cell in cells) or (products and column == 0):
                for own, found in zip(named, names, strict=True):
                    own.extend(found)
        return [self._subjects.most_specific(own) for own in named]

    def _named(self, text: str) -> tuple[str, ...]:
        names = [n.name for n in self._subjects.named(text)]
        if self._capability:
            names += self._subjects.capabilities(text)
        return self._subjects.most_specific(names)

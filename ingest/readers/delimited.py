"""Delimited values: fields separated by commas, semicolons, tabs or bars, and quoted if they contain one."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ingest.builder import Cell, DocumentBuilder, ParsedDocument
from ingest.source import Source

_DELIMITERS = ",;\t|"
_NUMBER = re.compile(r"\s*[-+]?(?:\d+[.,]?\d*|[.,]\d+)(?:e[-+]?\d+)?\s*", re.IGNORECASE)
_SAMPLE_LINES = 50
_MOST_PADDING = 10
"""Largest number of cells of a table for each field of the file."""


def read(source: Source) -> ParsedDocument:
    builder = DocumentBuilder()
    lines = source.text.split("\n")
    try:
        numbered = list(csv_rows(lines, _delimiter(lines[:_SAMPLE_LINES])))
    except csv.Error as error:
        builder.warnings.append(f"kept as plain text: {error}")
        numbered = []
    rows = [row for _, row in numbered]
    # One long row would pad all others to its length.
    if len(rows) * max(map(len, rows), default=0) > _MOST_PADDING * (sum(map(len, rows)) + _SAMPLE_LINES):
        builder.warnings.append("kept as plain text: the rows have very different lengths")
        rows = []
    if rows:
        cells = [[Cell(field) for field in row] for row in rows]
        header_rows = 0 if all(map(_NUMBER.fullmatch, rows[0])) else 1
        builder.table(cells, header_rows=header_rows, row_lines=[line for line, _ in numbered])
    else:
        builder.code(source.text, 1)
    return builder.build()


def csv_rows(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, each with the line it begins on, counted from 1.

    Raises:
        csv.Error: a field is too long.
        TypeError: `delimiter` is not one character.
    """
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, skipinitialspace=True)
    begin = 1
    for row in reader:
        if any(field.strip() for field in row):
            yield begin, row
        begin = reader.line_num + 1


def _delimiter(lines: Sequence[str]) -> str:
    """Return the delimiter that gives the most rows of equal length; among equals, the longest rows."""

    def regularity(delimiter: str) -> tuple[int, int]:
        lengths = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter) if len(row) > 1)
        return max(((count, length) for length, count in lengths.items()), default=(0, 0))

    return max(_DELIMITERS, key=regularity)

"""The rows of an AsciiDoc table: cells are split at separators and fill the columns of the table in turn."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ingest.grouping import grouped
from ingest.readers.delimited import csv_rows

_COLUMN = re.compile(r"(?:(\d{1,4})\*)?[<^>]?(?:\.[<^>])?[\d.]*[%~]?([a-z])?")
_SPECIFICATION = r"(?:(\d{1,4})\*|(\d{0,4})(?:\.(\d{1,4}))?\+)?[<^>]?(?:\.[<^>])?([adehlmsv])?"
_BOLD = re.compile(r"\*[^*]+\*")
_OF_FORMAT = {"csv": ",", "dsv": ":", "tsv": "\t"}

MAX_COLUMNS = 256
MAX_ROW_SPAN = 256
MAX_COPIES = 64


@dataclass(slots=True)
class RawCell:
    lines: list[str]
    at: int
    """Index of the table's line on which the cell begins."""
    rows: int = 1
    columns: int = 1
    copies: int = 1
    style: str = ""
    begins_line: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip()


def raw_table(
    lines: Sequence[str], *, mark: str, named: Mapping[str, str], options: set[str]
) -> tuple[list[list[RawCell]], int]:
    """Return the rows of a table and the number of its header rows; `mark` is the first character of its delimiter."""
    form = named.get("format", {",": "csv", ":": "dsv"}.get(mark, "psv"))
    separator = named.get("separator", _OF_FORMAT.get(form, mark if mark in "|!" else "|")).replace("\\t", "\t") or "|"
    styles = _styles(named["cols"]) if "cols" in named else []
    if form in _OF_FORMAT:
        rows = [[RawCell([text], at) for text in texts] for at, texts in _records(lines, form, separator)]
        begins = True
    else:
        cells = list(_cells(lines, separator))
        rows = _flow(cells, min(len(styles) or _width(cells), MAX_COLUMNS))
        after = next((at for at in range(1, len(lines)) if lines[at]), 0)
        begins = bool(rows) and rows[0][-1].at == 0 and any(cell.at == after for cell in cells if after)
    for row in rows:
        for cell, style in zip(row, styles, strict=False):
            cell.style = cell.style or style
    implied = begins and len(lines) > 1 and bool(lines[0]) and not lines[1] and "noheader" not in options
    is_header = "header" in options or implied or ("noheader" not in options and _is_tall_header(rows, lines))
    return rows, min(len(rows), _height(rows)) if is_header else 0


def _height(rows: Sequence[Sequence[RawCell]]) -> int:
    """Count the rows that cells of the first row span."""
    return max((cell.rows for cell in rows[0]), default=1) if rows else 0


def _is_tall_header(rows: Sequence[Sequence[RawCell]], lines: Sequence[str]) -> bool:
    """Whether the first rows, held together by a spanning cell, are a header, which AsciiDoc cannot state.

    They are if that cell is bold, or if the first blank line comes right below them.
    """
    height = _height(rows)
    if height < 2 or len(rows) <= height or not rows[height]:
        return False
    below = rows[height][0].at - 1
    return bool(_BOLD.fullmatch(rows[0][0].text)) or (not lines[below] and all(lines[:below]))


def _styles(columns: str) -> list[str]:
    if columns.strip().isdigit():
        return [""] * min(int(columns), MAX_COLUMNS)
    styles: list[str] = []
    for column in re.split("[,;]", columns):
        match = _COLUMN.match(column.strip())
        copies, style = match.groups() if match else (None, None)
        styles += [style or ""] * min(int(copies or 1), MAX_COLUMNS)
    return styles[:MAX_COLUMNS]


def _cells(lines: Sequence[str], separator: str) -> Iterator[RawCell]:
    between = re.compile(rf"(?:(?:^|(?<=[ \t])){_SPECIFICATION})?(?<!\\){re.escape(separator)}")
    cell = RawCell([], 0)
    is_open = False
    for at, line in enumerate(lines):
        last = 0
        for match in between.finditer(line):
            cell.lines.append(line[last : match.start()].replace("\\" + separator, separator))
            if is_open or cell.text:
                yield cell
            is_open = True
            copies, columns, rows, style = match.groups()
            cell = RawCell([], at, style=style or "", begins_line=not line[: match.start()].strip())
            cell.rows = min(int(rows or 1), MAX_ROW_SPAN) or 1
            cell.columns = min(int(columns or 1), MAX_COLUMNS) or 1
            cell.copies = min(int(copies or 1), MAX_COPIES) or 1
            last = match.end()
        text = line[last:].replace("\\" + separator, separator)
        cell.lines.append(text if cell.lines else text.lstrip())
    if is_open or cell.text:
        yield cell


def _width(cells: Sequence[RawCell]) -> int:
    """Count the columns of the first row, which ends before the next line that begins with a cell."""
    first = next(grouped(cells, lambda row, cell: not cell.begins_line), [])
    return sum(cell.columns * cell.copies for cell in first)


def _flow(cells: Sequence[RawCell], width: int) -> list[list[RawCell]]:
    rows: list[list[RawCell]] = []
    spanning: list[tuple[int, RawCell]] = []
    taken: Counter[int] = Counter()
    """Number of filled columns of each row, from the first row that is not full."""
    row = 0
    for cell in cells:
        cell.columns = min(cell.columns, width)
        for _ in range(cell.copies):
            if taken[row] >= width:
                del taken[row]
                row += 1
            if taken[row] >= width:
                # No cell begins in this row, so it does not exist: cells that span it end above it.
                for first, above in spanning:
                    above.rows = min(above.rows, row - first)
                spanning.clear()
                taken.clear()
            rows += [[] for _ in range(row + 1 - len(rows))]
            rows[row].append(cell)
            if cell.rows > 1:
                spanning.append((row, cell))
            for spanned in range(row, row + cell.rows):
                taken[spanned] += cell.columns
    return rows


def _records(lines: Sequence[str], form: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    if form == "dsv":
        between = re.compile(rf"(?<!\\){re.escape(separator)}")
        yield from ((at, [part.strip() for part in between.split(line)]) for at, line in enumerate(lines) if line)
        return
    try:
        yield from [(line - 1, record) for line, record in csv_rows(lines, separator[0])]
    except csv.Error:
        yield from ((at, [line]) for at, line in enumerate(lines) if line)

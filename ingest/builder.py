"""The one form that all readers produce: normalised Markdown text and its blocks.

A reader calls the builder's methods in document order. The builder writes the text, so every block's span is exact,
and records for each line of the text its line in the file.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum

from kb.types.records import SectionRecord, ancestry

CHUNK_CHARACTERS = 1536
"""Longest chunk, table header included. Tuned on the development questions: benchmarks/results/chunk-size.json."""
_LABEL_CHARACTERS = 100
_LONGEST_VALUE = 300
"""A text of more characters is not repeated in each column that its cell spans."""


class BlockKind(StrEnum):
    HEADING = "heading"
    TEXT = "text"
    ITEM = "item"
    CODE = "code"
    TABLE = "table"
    FURNITURE = "furniture"
    """Running headers and page numbers: kept, but never searched."""


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    rows: int = 1
    """Number of rows that the cell spans."""
    columns: int = 1


@dataclass(frozen=True, slots=True)
class Row:
    cells: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    """Span of each cell in the text."""
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Table:
    header: tuple[str, ...]
    rows: tuple[Row, ...]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    kind: BlockKind
    start: int
    end: int
    section: int | None
    table: Table | None = None


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    text: str
    lines: tuple[int, ...]
    """For each line of `text`, its line in the file, counted from 1."""
    blocks: tuple[Block, ...]
    sections: tuple[SectionRecord, ...]
    metadata: dict[str, str]
    """`title`, `version`, `licence`, `target` where the document states them."""
    includes: tuple[str, ...] = ()
    """Other files whose text is part of this document."""
    warnings: tuple[str, ...] = ()

    def trail(self, section: int | None) -> list[str]:
        """Return the titles of a section and of those around it, outermost first."""
        return [self.sections[i].title for i in ancestry(self.sections, section)]


@dataclass(slots=True)
class DocumentBuilder:
    metadata: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    _lines: list[str] = field(default_factory=list)
    _numbers: list[int] = field(default_factory=list)
    _length: int = 0
    _blocks: list[Block] = field(default_factory=list)
    _sections: list[SectionRecord] = field(default_factory=list)
    _open: list[int] = field(default_factory=list)
    _furniture: list[tuple[int, str]] = field(default_factory=list)

    def heading(self, level: int, title: str, line: int) -> None:
        """Start a section; it ends with the next heading of this level or a higher one."""
        title = " ".join(title.split())
        if not title:
            return
        while self._open and self._sections[self._open[-1]].level >= level:
            self._open.pop()
        self._sections.append(SectionRecord(level, title, 0, 0, self._open[-1] if self._open else None))
        self._open.append(len(self._sections) - 1)
        start = self._emit(BlockKind.HEADING, ["#" * min(level, 6) + " " + title], [line])
        self._sections[-1] = replace(self._sections[-1], start=start)

    @contextmanager
    def labelled(self, label: str, line: int) -> Iterator[None]:
        """Open a section for the content of a tab, card or signature; later text belongs to the outer section again.

        A label that is too long for a title is repeated in full below it.
        """
        outer = list(self._open)
        label = " ".join(label.split())
        self.heading(1 + (self._sections[outer[-1]].level if outer else 0), label[:_LABEL_CHARACTERS], line)
        if len(label) > _LABEL_CHARACTERS:
            self.text(label, line)
        yield
        self._open = outer

    def text(self, text: str, line: int, *, depth: int = 0, marker: str = "") -> None:
        """Add a paragraph whose lines follow one another in the file from `line` on; see `lines`."""
        first = line + _blank_lines(text)
        self.lines(list(enumerate(map(str.strip, text.strip().split("\n")), first)), depth=depth, marker=marker)

    def lines(self, numbered: Sequence[tuple[int, str]], *, depth: int = 0, marker: str = "") -> None:
        """Add a paragraph, each line with its line number in the file; the first line is not blank.

        `depth` is the number of lists around it; a `marker` makes it an entry of the innermost list.
        """
        if any(text for _, text in numbered):
            first = "  " * depth + marker + " " * bool(marker)
            texts = [(" " * len(first) if i else first) + text if text else "" for i, (_, text) in enumerate(numbered)]
            self._emit(BlockKind.ITEM if marker else BlockKind.TEXT, texts, [number for number, _ in numbered])

    def code(self, code: str, line: int, *, language: str = "", step: int = 1, has_fence: bool = True) -> None:
        """Add code; `line` is its first line, blank or not, and `step` is 0 if all its lines have the same number.

        `has_fence` says whether the line above it in the file belongs to it.
        """
        line += step * _blank_lines(code)
        lines = code.strip("\n").split("\n")
        if any(part.strip() for part in lines):
            numbers = [line + step * n for n in range(len(lines))]
            above = max(1, line - step) if has_fence else line
            self._emit(BlockKind.CODE, [f"```{language}", *lines, "```"], [above, *numbers, numbers[-1]])

    def table(
        self, rows: Sequence[Sequence[Cell]], *, header_rows: int, row_lines: Sequence[int], caption: str = ""
    ) -> None:
        """Add a table whose first `header_rows` rows are its header; `row_lines` has one line number per row.

        A cell is repeated in each row and column that it spans, except a row that is one cell over all columns.
        """
        grid = _grid(rows, header_rows)
        if not any(any(row) for row in grid):
            return
        header = tuple(
            " / ".join(dict.fromkeys(filter(None, column))) for column in zip(*grid[:header_rows], strict=True)
        )
        caption = " ".join(caption.split())
        lead = [caption] if caption else []
        numbers = [row_lines[0]] * len(lead)
        if header:
            lead += [_pipe(header), "|" + "---|" * len(header)]
            numbers += [row_lines[0]] * 2
        body = [_pipe(row) for row in grid[header_rows:]]
        start = self._emit(BlockKind.TABLE, lead + body, [*numbers, *row_lines[header_rows:]])
        at = start + sum(len(line) + 1 for line in lead)
        spans = []
        for cells, line in zip(grid[header_rows:], body, strict=True):
            spans.append(Row(tuple(cells), tuple(_cell_spans(cells, at)), at, at + len(line)))
            at += len(line) + 1
        self._blocks[-1] = replace(self._blocks[-1], table=Table(header, tuple(spans), caption))

    def furniture(self, text: str, line: int) -> None:
        """Add text that belongs to the page, not to the document; it is kept after the text."""
        if text.strip():
            self._furniture.append((line, " ".join(text.split())))

    def build(self) -> ParsedDocument:
        if self._furniture:
            self._open.clear()
            numbers, texts = zip(*self._furniture, strict=True)
            self._emit(BlockKind.FURNITURE, list(texts), list(numbers))
        return ParsedDocument(
            "\n".join(self._lines),
            tuple(self._numbers) or (1,),
            tuple(self._blocks),
            tuple(self._sections),
            self.metadata,
            warnings=tuple(self.warnings),
        )

    def _emit(self, kind: BlockKind, lines: list[str], numbers: list[int]) -> int:
        """Append a block and return its start."""
        tight = kind is BlockKind.ITEM and self._blocks and self._blocks[-1].kind is BlockKind.ITEM
        if self._lines and not tight:
            self._lines.append("")
            self._numbers.append(numbers[0])
            self._length += 1
        start = self._length + 1 if self._lines else 0
        self._lines += lines
        self._numbers += numbers
        end = start + sum(map(len, lines)) + len(lines) - 1
        self._length = end
        section = self._open[-1] if self._open else None
        self._blocks.append(Block(kind, start, end, section))
        for index in self._open:
            self._sections[index] = replace(self._sections[index], end=end)
        return start


def _blank_lines(text: str) -> int:
    return text[: len(text) - len(text.lstrip())].count("\n")


def _grid(rows: Sequence[Sequence[Cell]], header_rows: int) -> list[list[str]]:
    """Place the cells: spans are filled in, and all rows have equal length."""
    placed: dict[tuple[int, int], str] = {}
    several = max((sum(max(1, cell.columns) for cell in row) for row in rows if len(row) > 1), default=0)
    for r, row in enumerate(rows):
        # A row that is one cell is a heading between rows, and a long text is prose: neither is a value of each column.
        is_band = len(row) == 1 and r >= header_rows and (r, 0) not in placed and row[0].columns >= several
        c = 0
        for cell in row:
            while (r, c) in placed:
                c += 1
            text = " ".join(cell.text.split())
            columns = 1 if is_band else max(1, cell.columns)
            is_value = r < header_rows or len(text) <= _LONGEST_VALUE
            for dr in range(min(max(1, cell.rows), len(rows) - r)):
                for dc in range(columns):
                    placed[r + dr, c + dc] = text if dc == 0 or is_value else ""
            c += columns
    width = 1 + max((c for _, c in placed), default=-1)
    return [[placed.get((r, c), "") for c in range(width)] for r in range(len(rows))]


def _pipe(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_escaped, cells)) + " |"


def _cell_spans(cells: Sequence[str], start: int) -> Iterator[tuple[int, int]]:
    """Yield the span of each cell in a row that `_pipe` writes at `start`."""
    for cell in cells:
        start += 2
        end = start + len(_escaped(cell))
        yield start, end
        start = end + 1


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")

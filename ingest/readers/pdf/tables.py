"""Tables of a page: the grids drawn by its ruling lines, and the text in their cells."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from ingest.grouping import grouped
from ingest.readers.pdf.captions import CAPTION, is_continued
from ingest.readers.pdf.lines import GlyphRun, Line, flows, lines_of, pieces_of, rows_of
from ingest.readers.pdf.listings import is_listing
from ingest.readers.pdf.page import THIN, Box, Fill, Font, Glyph, Page

_SNAP = 3.0
"""Lines at most this many points apart count as one: double frames, cells with separate frames."""
_MOST_RULINGS, _MOST_UNITS = 4000, 40_000
_MOST_EMPTY = 0.9
_RULER_BITS = 8
_PADDING, _BROKEN = 3.0, 3
_SEVERAL_SHARE, _LINE_STEP, _ROW_HEIGHT = 0.6, 1.35, 45.0
_MOST_HEADER_ROWS, _THINNEST_ROW = 3, 7.0
_ABOVE_ALL = float("-inf")
_BLANK = {None, (255, 255, 255)}


class Ruling(NamedTuple):
    at: float
    start: float
    end: float


_Components = list[tuple[list[Ruling], list[Ruling]]]
"""Level and upright lines that touch each other."""


@dataclass(slots=True)
class GridCell:
    row: int
    column: int
    rows: int
    columns: int
    glyphs: list[Glyph] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    font: Font | None = None
    colour: tuple[int, int, int] | None = None

    def set_lines(self, lines: Sequence[Line], width: float) -> None:
        """Set the cell's text; a word without spaces that was broken at the cell's width is joined again."""
        self.lines = []
        self.font = lines[0].font if lines else None
        for i, line in enumerate(lines):
            last = lines[i - 1]
            is_full = last.box.x1 - last.box.x0 + last.pitch > width - 2 * _PADDING
            if i and is_full and len(line.text) <= _BROKEN and " " not in last.text + line.text:
                self.lines[-1] += line.text
            else:
                self.lines.append(line.text)


@dataclass(slots=True)
class Grid:
    box: Box
    xs: list[float]
    ys: list[float]
    cells: list[GridCell]
    header_rows: int = 0
    bands: list[str] = field(default_factory=list)
    """Texts in the frame that are no rows: a caption, or words that say where the table goes on."""

    @property
    def rows(self) -> list[list[GridCell]]:
        by_row: list[list[GridCell]] = [[] for _ in self.ys[1:]]
        for cell in self.cells:
            by_row[cell.row].append(cell)
        return by_row

    def has_columns_of(self, other: "Grid") -> bool:
        """Whether this table can continue `other`."""
        alike = len(self.xs) == len(other.xs)
        return alike and all(abs(a - b) <= 2 * _SNAP for a, b in zip(self.xs, other.xs, strict=True))


def grids_of(page: Page) -> tuple[list[Grid], list[Glyph]]:
    """Return the tables of a page, and the glyphs outside them."""
    level, upright = _joined_rulings(page.rulings)
    components = _components(level, upright)
    drawn, outside = _drawn_grids(components, page.glyphs)
    frames = [
        (Box(h[0].start, h[0].at, h[0].end, h[-1].at), _ABOVE_ALL) for h, v in components if len(h) == len(v) == 2
    ]
    aligned, outside = _aligned_grids(frames + _ruled(level, upright), outside)
    for grid in (found := drawn + aligned):
        _take_bands(grid)
        below_header = _read_double_rules(grid)
        for cell in grid.cells:
            cell.colour = _colour(grid, cell, page.fills)
        grid.header_rows = grid.header_rows or below_header or _read_bit_ruler(grid) or _header_rows(grid.rows)
    return found, outside


def _drawn_grids(components: _Components, outside: list[Glyph]) -> tuple[list[Grid], list[Glyph]]:
    """Return the tables with a line around each cell, and the glyphs outside them."""
    grids = [grid for lines in components if (grid := _grid(*lines))]
    found = []
    # Largest first: a frame in a cell of another table is not a separate table.
    for grid in sorted(grids, key=lambda g: (g.box.x0 - g.box.x1) * (g.box.y1 - g.box.y0)):
        others = _fill(grid, outside)
        if _is_table(grid):
            outside = others
            found.append(grid)
            for cell in grid.cells:
                width = grid.xs[cell.column + cell.columns] - grid.xs[cell.column]
                cell.set_lines(lines_of(pieces_of(cell.glyphs)), width)
                cell.glyphs = []
    return found, outside


def _aligned_grids(boxes: list[tuple[Box, float]], outside: list[Glyph]) -> tuple[list[Grid], list[Glyph]]:
    """Return tables without lines between columns, and the glyphs outside them; each box has the end of its header."""
    found = []
    for box, below_header in boxes:
        inside = [g for g in outside if box.x0 <= g.x0 and g.x1 <= box.x1 and box.y0 < g.y < box.y1]
        if aligned := _aligned(box, inside, below_header):
            taken = {id(g) for g in inside}
            outside = [g for g in outside if id(g) not in taken]
            found.append(aligned)
    return found, outside


def _read_double_rules(grid: Grid) -> int:
    """Remove the empty rows between double rules, which are too thin for text; return the number of rows above."""
    header_rows = 0
    for row in reversed(range(len(grid.ys) - 1)):
        cells = [cell for cell in grid.cells if cell.row <= row < cell.row + cell.rows]
        if grid.ys[row + 1] - grid.ys[row] < _THINNEST_ROW and all(cell.rows == 1 and not cell.lines for cell in cells):
            header_rows = (row if row <= _MOST_HEADER_ROWS else 0) or max(0, header_rows - 1)
            del grid.ys[row]
            grid.cells = [cell for cell in grid.cells if cell.row != row]
            for cell in grid.cells:
                cell.row -= cell.row > row
    return header_rows


def _take_bands(grid: Grid) -> None:
    """Move the caption above the rows, and words above or below them that say where the table goes on, to its bands."""
    for from_top in (True, False):
        while len(grid.ys) > 2:
            row = 0 if from_top else len(grid.ys) - 2
            cells = [cell for cell in grid.cells if cell.row <= row < cell.row + cell.rows]
            filled = [cell for cell in cells if cell.lines]
            text = " ".join(filled[0].lines) if len(filled) == 1 else ""
            if not _is_band(text, is_first=from_top) or any(cell.rows > 1 for cell in cells):
                break
            grid.bands.append(text)
            del grid.ys[0 if from_top else -1]
            grid.header_rows -= from_top and grid.header_rows > 0
            grid.cells = [cell for cell in grid.cells if cell.row != row]
            for cell in grid.cells:
                cell.row -= from_top


def _is_band(text: str, *, is_first: bool) -> bool:
    return is_continued(text) or (is_first and bool(CAPTION.match(text)))


def _joined_rulings(rulings: Iterable[Box]) -> tuple[list[Ruling], list[Ruling]]:
    """Return joined level and upright rulings; none if there are too many."""
    level = _joined(Ruling((b.y0 + b.y1) / 2, b.x0, b.x1) for b in rulings if b.x1 - b.x0 > THIN)
    upright = _joined(Ruling((b.x0 + b.x1) / 2, b.y0, b.y1) for b in rulings if b.y1 - b.y0 > THIN)
    return (level, upright) if len(level) + len(upright) <= _MOST_RULINGS else ([], [])


def _components(level: list[Ruling], upright: list[Ruling]) -> _Components:
    """Group lines that touch each other, directly or through other lines."""
    parent = list(range(len(level) + len(upright)))
    heights = [ruling.at for ruling in level]
    for u, (x, top, bottom) in enumerate(upright, len(level)):
        for i in range(bisect_left(heights, top - _SNAP), bisect_right(heights, bottom + _SNAP)):
            if level[i].start - _SNAP <= x <= level[i].end + _SNAP:
                parent[_root(parent, i)] = _root(parent, u)
    found: dict[int, tuple[list[Ruling], list[Ruling]]] = defaultdict(lambda: ([], []))
    for i, ruling in enumerate(level + upright):
        found[_root(parent, i)][i >= len(level)].append(ruling)
    return [lines for lines in found.values() if all(lines)]


def _ruled(level: list[Ruling], upright: list[Ruling]) -> list[tuple[Box, float]]:
    """Return the boxes of tables with only level lines of equal length, around each row or the header, and its end."""
    found = []
    by_length: dict[tuple[float, float], list[Ruling]] = defaultdict(list)
    for ruling in level:
        by_length[round(ruling.start), round(ruling.end)].append(ruling)
    for (start, end), group in by_length.items():
        is_row_by_row = len(group) > 3 and all(b.at - a.at <= _ROW_HEIGHT for a, b in pairwise(group))
        for top in range(0, len(group) - 2, len(group) if is_row_by_row else 3):
            first, below_header, last = group[top], group[top + 1], group[-1 if is_row_by_row else top + 2]
            if not any(start <= u.at <= end and u.start < last.at and u.end > first.at for u in upright):
                box = Box(start - 1, first.at, end + 1, last.at)
                found.append((box, _ABOVE_ALL if is_row_by_row else below_header.at))
    return found


def _aligned(box: Box, glyphs: list[Glyph], below_header: float) -> Grid | None:
    """Return a table without lines between its columns, if all rows have gaps between them."""
    pieces = pieces_of(glyphs)
    rows = rows_of(pieces)
    bands = [i for i, row in enumerate(rows) if len(row) == 1 and _is_band(lines_of(row)[0].text, is_first=not i)]
    texts = [lines_of(rows[i])[0].text for i in bands]
    rows = [row for i, row in enumerate(rows) if i not in bands]
    columns: list[list[float]] = []
    for piece in sorted((piece for row in rows for piece in row), key=lambda p: p.box.x0):
        if columns and piece.box.x0 <= columns[-1][1]:
            columns[-1][1] = max(columns[-1][1], piece.box.x1)
        else:
            columns.append([piece.box.x0, piece.box.x1])
    several = sum(len(row) > 1 for row in rows)
    prose = len(list(flows(pieces))) > 1 or sum(g.font.mono for g in glyphs) > len(glyphs) / 2
    prose = prose or (below_header == _ABOVE_ALL and is_listing([line.text for line in lines_of(pieces)]))
    if len(columns) < 2 or len(rows) < 2 or several < _SEVERAL_SHARE * len(rows) or prose:
        return None
    xs = [box.x0, *(start for start, _ in columns[1:]), box.x1]
    ys = [box.y0]
    by_place: dict[tuple[int, int], list[GlyphRun]] = defaultdict(list)
    last = rows[0][0]
    for row in rows:
        goes_on = row[0].box.x0 >= xs[1] and row[0].y - last.y <= _LINE_STEP * row[0].size and len(ys) > 1
        if not goes_on:
            ys.append(row[0].box.y1)
        last = row[0]
        for piece in row:
            by_place[len(ys) - 2, bisect_right(xs, piece.box.x0, hi=len(columns)) - 1].append(piece)
    cells = [GridCell(r, c, 1, 1) for r in range(len(ys) - 1) for c in range(len(columns))]
    for cell in cells:
        cell.set_lines(lines_of(by_place[cell.row, cell.column]), float("inf"))
    return Grid(box, xs, ys, cells, header_rows=sum(y <= below_header for y in ys[1:]), bands=texts)


def _root(parent: list[int], i: int) -> int:
    while parent[i] != i:
        parent[i] = i = parent[parent[i]]
    return i


def _joined(rulings: Iterable[Ruling]) -> list[Ruling]:
    """Join rulings that overlap or continue each other; sorted by position."""
    joined: list[Ruling] = []
    for group in grouped(sorted(rulings), lambda g, r: r.at - g[-1].at <= _SNAP and r.at - g[0].at <= 2 * _SNAP):
        place, start, end = group[0].at, -_ABOVE_ALL, _ABOVE_ALL
        for ruling in sorted(group, key=lambda r: r.start):
            if ruling.start > end + _SNAP:
                if end > start:
                    joined.append(Ruling(place, start, end))
                start, end = ruling.start, ruling.end
            end = max(end, ruling.end)
        joined.append(Ruling(place, start, end))
    return joined


def _grid(level: list[Ruling], upright: list[Ruling]) -> Grid | None:
    """Return the cells between lines; a cell that is open to one side ends where the lines end."""
    xs = _places([*(r.at for r in upright), min(r.start for r in level), max(r.end for r in level)])
    ys = _places([*(r.at for r in level), min(r.start for r in upright), max(r.end for r in upright)])
    rows, columns = len(ys) - 1, len(xs) - 1
    if rows < 1 or columns < 2 or rows * columns > _MOST_UNITS:
        return None
    below = _walls(level, ys, xs)
    beside = _walls(upright, xs, ys)
    parent = list(range(rows * columns))
    for row in range(rows):
        for column in range(columns):
            unit = row * columns + column
            if column + 1 < columns and (column + 1, row) not in beside:
                parent[_root(parent, unit + 1)] = _root(parent, unit)
            if row + 1 < rows and (row + 1, column) not in below:
                parent[_root(parent, unit + columns)] = _root(parent, unit)
    areas: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for unit in range(rows * columns):
        areas[_root(parent, unit)].append(divmod(unit, columns))
    cells: list[GridCell] = []
    for area in areas.values():
        (top, bottom), (left, right) = ((min(side), max(side) + 1) for side in zip(*area, strict=True))
        if (bottom - top) * (right - left) == len(area):
            cells.append(GridCell(top, left, bottom - top, right - left))
        else:
            cells += [GridCell(row, column, 1, 1) for row, column in area]
    return Grid(Box(xs[0], ys[0], xs[-1], ys[-1]), xs, ys, sorted(cells, key=lambda c: (c.row, c.column)))


def _places(values: list[float]) -> list[float]:
    return [group[0] for group in grouped(sorted(values), lambda group, value: value - group[0] <= _SNAP)]


def _walls(rulings: Iterable[Ruling], across: list[float], along: list[float]) -> set[tuple[int, int]]:
    """Return the units with a line on their upper or left side: (place across the lines, place along them)."""
    found: set[tuple[int, int]] = set()
    for ruling in rulings:
        place = bisect_right(across, ruling.at + _SNAP / 2) - 1
        first = bisect_left(along, ruling.start - _SNAP)
        last = bisect_right(along, ruling.end + _SNAP) - 1
        found.update((place, unit) for unit in range(first, last))
    return found


def _fill(grid: Grid, glyphs: Iterable[Glyph]) -> list[Glyph]:
    """Put glyphs into their cells, and return the others."""
    owner = {
        (r, c): cell
        for cell in grid.cells
        for r in range(cell.row, cell.row + cell.rows)
        for c in range(cell.column, cell.column + cell.columns)
    }
    others = []
    last: tuple[float, float, GridCell | None] = 0.0, 0.0, None
    for glyph in glyphs:
        row = bisect_right(grid.ys, glyph.y - 0.3 * glyph.font.size) - 1
        column = bisect_right(grid.xs, (glyph.x0 + glyph.x1) / 2) - 1
        cell = owner.get((row, column))
        if not cell and last[1] == glyph.y and abs(glyph.x0 - last[0]) < 0.1 * glyph.font.size:
            cell = last[2]  # The rest of a word that is too long for its cell.
        last = glyph.x1, glyph.y, cell
        if cell:
            cell.glyphs.append(glyph)
        else:
            others.append(glyph)
    return others


def _is_table(grid: Grid) -> bool:
    filled = [cell for cell in grid.cells if cell.glyphs]
    columns = {cell.column for cell in filled}
    return len(columns) > 1 and len(filled) > 2 and len(filled) >= (1 - _MOST_EMPTY) * len(grid.cells)


def _colour(grid: Grid, cell: GridCell, fills: Sequence[Fill]) -> tuple[int, int, int] | None:
    x, y = grid.xs[cell.column] + _SNAP, grid.ys[cell.row] + _SNAP
    over = (f.colour for f in reversed(fills) if f.box.x0 < x < f.box.x1 and f.box.y0 < y < f.box.y1)
    return next(over, None)


def _read_bit_ruler(grid: Grid) -> int:
    """If the first row counts bits (31 . . . 27 26 . . 24), make it name the bits of each cell below.

    The columns become those of the cells below. Return the number of header rows.
    """
    ruler = [cell for cell in grid.cells if cell.row == 0]
    texts = ["".join(cell.lines) for cell in ruler]
    if len(grid.ys) < 3 or len(ruler) < _RULER_BITS or not (texts[0].isdigit() and texts[-1].isdigit()):
        return 0
    top = int(texts[0])
    if any(text.strip(".") and text != str(top - i) for i, text in enumerate(texts)):
        return 0
    below = [cell for cell in grid.cells if cell.row]
    starts = sorted({cell.column for cell in below})
    ends = [*starts[1:], len(ruler)]
    font = ruler[0].font
    header = []
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        first, last = top - start, top - end + 1
        header.append(GridCell(0, i, 1, 1, lines=[f"{first}-{last}" if first > last else f"{first}"], font=font))
    for cell in below:
        end = cell.column + cell.columns
        cell.column = starts.index(cell.column)
        cell.columns = sum(start < end for start in starts) - cell.column
    grid.xs = [grid.xs[start] for start in [*starts, len(ruler)]]
    grid.cells = header + below
    return 1


def _header_rows(rows: list[list[GridCell]]) -> int:
    """Count the top rows that differ from all rows below in font or else in colour.

    If only the first column differs, the first row is a header too. If cells of the first row span columns, the first
    two rows are.
    """
    filled = [[cell for cell in row if cell.lines] for row in rows]
    most = min(_MOST_HEADER_ROWS, len(rows) - 1)
    split = 2 if most > 1 and len(filled[0]) > 1 and any(cell.columns > 1 for cell in filled[0]) else 0
    for style in (attrgetter("font"), attrgetter("colour")):
        styles = [{style(cell) for cell in row} for row in filled]
        for count in range(most, 0, -1):
            # A title between the rows of a table looks like its header, and so does the first column.
            rest = {style(cell) for row in filled[count:] if len(row) > 1 for cell in row if cell.column}
            if rest and all(row and not row & (rest | _BLANK) for row in styles[:count]):
                return max(count, split)
    first = {row[0].colour for row in filled if row}
    others = {cell.colour for row in filled for cell in row[1:]}
    return max(split, int(most > 0 and len(rows[0]) > 2 and not first & (others | _BLANK)))

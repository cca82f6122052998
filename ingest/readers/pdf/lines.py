"""Join the glyphs of a page to lines in reading order."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import median
from typing import Protocol, TypeVar

from ingest.grouping import grouped
from ingest.readers.pdf.page import Box, Font, Glyph

ASCENT, DESCENT = 0.75, 0.25
"""Extent of a letter above and below its baseline, in font sizes."""
_PIECE_GAP = 1.2
"""In font sizes; text further apart may be in different columns."""
_SAME_LINE, _RAISED_LINE = 0.25, 0.65
_MONO_SHARE = 0.85
_RAISED, _SMALLER = 0.18, 0.85
_COLUMN_LINES, _COLUMN_WIDTH, _GUTTER, _CROSSING, _FILLED = 8, 90.0, 8.0, 0.2, 0.5
"""A column has at least this many lines and this width; the gutter has at least this width (all in points). At most
this share of lines runs across the gutter, and most lines of a column fill this share of its width."""
_DEEPEST = 3
_WIDEST = 200
_POWER = re.compile(r"[+−–-]?\w")
_ORDINALS = {"st", "nd", "rd", "th"}
_FEW, _LOOSE, _LOOSEST, _LOOSE_WORD_GAP = 6, 0.06, 0.22, 0.25
"""A line with at least so many letters is letterspaced if its median gap lies between the next two values; there, a
space between words adds at least the last value (all in font sizes)."""


class Placed(Protocol):
    @property
    def box(self) -> Box: ...


Style = tuple[str, float, bool]
"""Name, size and boldness of a font."""
P = TypeVar("P", bound=Placed)


@dataclass(slots=True)
class GlyphRun:
    """Glyphs that stand close together on one line."""

    glyphs: list[Glyph]
    box: Box
    y: float
    size: float


@dataclass(slots=True)
class Line:
    text: str
    box: Box
    y: float
    font: Font
    """Font of most of the line; bold or mono only if all of it is."""
    pitch: float
    """Width of a letter."""
    title: str
    """The text without links."""
    aside: str = ""
    """The link at the end of a line that has other text too."""

    @property
    def style(self) -> Style:
        return self.font.name, self.font.size, self.font.bold


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture, whose text cannot be read."""

    box: Box


@dataclass(slots=True)
class Sheet:
    """The content of a page in reading order: lines, tables, figures."""

    number: int
    area: Box
    parts: list[Placed]


def pieces_of(glyphs: Iterable[Glyph]) -> list[GlyphRun]:
    return list(map(_piece, grouped(glyphs, _follows)))


def _follows(run: Sequence[Glyph], glyph: Glyph) -> bool:
    last = run[-1]
    size = max(last.font.size, glyph.font.size)
    return abs(glyph.y - last.y) <= 0.55 * size and -0.5 * size <= glyph.x0 - last.x1 <= _PIECE_GAP * size


def _piece(glyphs: list[Glyph]) -> GlyphRun:
    size = max(g.font.size for g in glyphs)
    y = median(g.y for g in glyphs if g.font.size == size)
    return GlyphRun(
        glyphs, Box(glyphs[0].x0, y - ASCENT * size, max(g.x1 for g in glyphs), y + DESCENT * size), y, size
    )


def rows_of(pieces: Iterable[GlyphRun]) -> list[list[GlyphRun]]:
    """Group pieces that stand side by side, from left to right."""
    rows = grouped(sorted(pieces, key=lambda p: p.y), _is_beside)
    return [sorted(row, key=lambda p: p.box.x0) for row in rows]


def _is_beside(row: Sequence[GlyphRun], piece: GlyphRun) -> bool:
    """Whether the step between the baselines is that of one row; raised or lowered text is smaller than its line."""
    small, large = sorted((row[0].size, piece.size))
    most = _SAME_LINE * large if small > _SMALLER * large else _RAISED_LINE * small
    return piece.y - row[0].y <= most


def lines_of(pieces: Iterable[GlyphRun], links: Sequence[Box] = ()) -> list[Line]:
    """Return one line for each row of pieces; `links` are areas that lead elsewhere."""
    rows = rows_of(pieces)
    loose = [_looseness(row) for row in rows]
    # A font that is mostly letterspaced always is: short lines do not show it.
    fonts = Counter(row[0].glyphs[0].font.name for row in rows)
    spaces: dict[str, list[float]] = defaultdict(list)
    for row, space in zip(rows, loose, strict=True):
        if space:
            spaces[row[0].glyphs[0].font.name].append(space)
    usual = {name: median(found) for name, found in spaces.items() if len(found) >= fonts[name] / 2}
    return [
        _line(row, space or usual.get(row[0].glyphs[0].font.name, 0.0), links)
        for row, space in zip(rows, loose, strict=True)
    ]


def _line(row: list[GlyphRun], loose: float, links: Sequence[Box]) -> Line:
    glyphs = [g for piece in row for g in piece.glyphs]
    size, y = max((p.size, p.y) for p in row)
    box = Box(row[0].box.x0, min(p.box.y0 for p in row), max(p.box.x1 for p in row), max(p.box.y1 for p in row))
    free, linked = _split_at_link(glyphs, [link for link in links if link.y0 < y < link.y1 + DESCENT * size])
    fonts = Counter(g.font for g in free)
    # Listings in a proportional font are letterspaced to fill their columns.
    mono = loose > 0 or sum(count for font, count in fonts.items() if font.mono) >= _MONO_SHARE * fonts.total()
    font = max(fonts, key=lambda f: fonts[f])._replace(bold=all(f.bold for f in fonts), mono=mono)
    pitch = max(median(g.x1 - g.x0 for g in glyphs) + loose, 0.2 * size, 0.1)
    text = _mono_text(glyphs, pitch) if mono and not loose else _text(glyphs, y, size, loose)
    if not linked:
        return Line(text, box, y, font, pitch, title=text)
    return Line(text, box, y, font, pitch, _text(free, y, size, loose), _text(linked, y, size, loose))


def _split_at_link(glyphs: list[Glyph], links: Sequence[Box]) -> tuple[list[Glyph], list[Glyph]]:
    """Return the glyphs of a line before the link at its end, and the others; the area of a link may be too short."""
    is_linked = [any(link.x0 <= (g.x0 + g.x1) / 2 <= link.x1 for link in links) for g in glyphs] if links else []
    start = is_linked.index(True) if True in is_linked else 0
    if start and sum(is_linked) >= (len(glyphs) - start) / 2:
        return glyphs[:start], glyphs[start:]
    return glyphs, []


def _looseness(row: list[GlyphRun]) -> float:
    """Return the space between letters of a letterspaced row, else 0."""
    glyphs = [g for piece in row for g in piece.glyphs]
    # A gap where the file has a space is none between letters.
    gaps = [b.x0 - a.x1 for a, b in pairwise(glyphs) if b.word_gap > 0]
    space = median(gaps) if gaps and len(glyphs) >= _FEW else 0.0
    return space if _LOOSE * row[0].size < space < _LOOSEST * row[0].size else 0.0


def _mono_text(glyphs: list[Glyph], pitch: float) -> str:
    """Join glyphs with as many spaces between words as letters would fit there."""
    pairs = pairwise(glyphs)
    return glyphs[0].text + "".join(" " * round((glyph.x0 - last.x1) / pitch) + glyph.text for last, glyph in pairs)


def _text(glyphs: list[Glyph], y: float, size: float, loose: float) -> str:
    text = ""
    last: Glyph | None = None
    for raised, run in groupby(glyphs, lambda g: y - g.y > _RAISED * size and g.font.size < _SMALLER * size):
        part = ""
        for glyph in run:
            larger = max(last.font.size, glyph.font.size) if last else 0.0
            most = loose + _LOOSE_WORD_GAP * larger if loose else glyph.word_gap * larger
            part += " " * bool(last and glyph.x0 - last.x1 > most) + glyph.text
            last = glyph
        power = part.strip()
        if raised and text[-1:].isalnum() and _POWER.match(power) and power not in _ORDINALS:
            part = f"^{power}" if power.isalnum() else f"^{{{power}}}"
        text += part
    return text


def flows(pieces: Sequence[P], *, depth: int = 0) -> Iterator[list[P]]:
    """Yield pieces in reading order: one column after the other, between pieces that run across all columns."""
    gutter = _gutter(pieces) if depth < _DEEPEST else None
    if gutter is None:
        yield list(pieces)
        return
    band: list[P] = []
    for piece in sorted(pieces, key=lambda p: p.box.y0):
        if piece.box.x0 < gutter and piece.box.x1 > gutter:
            yield from _sides(band, gutter, depth)
            yield [piece]
            band = []
        else:
            band.append(piece)
    yield from _sides(band, gutter, depth)


def _sides(band: list[P], gutter: float, depth: int) -> Iterator[list[P]]:
    for side in ([p for p in band if p.box.x1 <= gutter], [p for p in band if p.box.x0 >= gutter]):
        if side:
            yield from flows(side, depth=depth + 1)


def _gutter(pieces: Sequence[Placed]) -> float | None:
    """Return where the first column ends; None if there are no columns."""
    ends = sorted([(p.box.x0, 1) for p in pieces] + [(p.box.x1, -1) for p in pieces])
    across = 0
    for (x, step), (following, _) in pairwise(ends):
        across += step
        if following - x >= _GUTTER and across <= _CROSSING * len(pieces):
            middle = (x + following) / 2
            sides = ([p for p in pieces if p.box.x1 <= middle], [p for p in pieces if p.box.x0 >= middle])
            if all(map(_is_column, sides)):
                return middle
    return None


def _is_column(pieces: Sequence[Placed]) -> bool:
    if len({round(p.box.y1) for p in pieces}) < _COLUMN_LINES:
        return False
    width = max(p.box.x1 for p in pieces) - min(p.box.x0 for p in pieces)
    return width >= _COLUMN_WIDTH and median(p.box.x1 - p.box.x0 for p in pieces) >= _FILLED * width


def body_font(lines: Sequence[Line]) -> tuple[float, bool]:
    """Return the size of most of the text, and whether it is bold; many headings may stand between a little text."""
    counts = Counter[tuple[float, bool]]()
    for line in lines:
        counts[line.font.size, line.font.bold] += 0 if line.font.mono else len(line.text) * (2 - line.font.bold)
    return max(counts, key=lambda c: counts[c], default=(0.0, False))


def spacing_of(sheets: Sequence[Sheet]) -> dict[float, float]:
    """Return the usual distance between lines of a paragraph, by font size."""
    steps: dict[float, Counter[float]] = defaultdict(Counter)
    for sheet in sheets:
        for last, line in pairwise(sheet.parts):
            if isinstance(last, Line) and isinstance(line, Line) and last.font.size == line.font.size:
                step = round(2 * (line.y - last.y)) / 2
                if 0.8 * line.font.size < step < 2 * line.font.size:
                    steps[line.font.size][step] += 1
    return {size: max(counts, key=lambda s: counts[s]) for size, counts in steps.items()}


def code_of(lines: Sequence[Line], *, blank_from: float) -> str:
    """Return code with its indentation, and a blank line where lines are further apart than `blank_from`."""
    left, pitch = min(line.box.x0 for line in lines), median(line.pitch for line in lines)
    text = ""
    for i, line in enumerate(lines):
        if i:
            text += "\n\n" if line.y - lines[i - 1].y > blank_from else "\n"
        text += " " * min(round((line.box.x0 - left) / pitch), _WIDEST) + line.text
    return text

"""The content of one page of a PDF, read with pdfium: glyphs, ruling lines and images.

All positions are in points as a reader sees them: x to the right, y downwards, the page turned so that most text is
level.
"""

import ctypes
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from statistics import median
from typing import NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as raw

THIN = 2.5
"""A filled box no thicker than this many points is a ruling line."""
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"
_ICON = 1.5
"""A sign without a character that is this many times as large as most of the text is a picture."""
_SPACE, _GENERATED, _NO_SPACE = -0.2, 0.12, 0.22
"""Smallest gap that makes a space, in font sizes: where the file has a space, where pdfium guesses one, elsewhere."""
_BOLD_WEIGHT = 600
_FORM_DEPTH = 8
_MOST_SEGMENTS = 50_000
"""Drawings with more segments are pictures, not tables."""
_MOST_LINKS = 500
_FIXED_PITCH = 1
_HIGH, _LOW = range(0xD800, 0xDC00), range(0xDC00, 0xE000)
_MATHEMATICAL = range(0x1D400, 0x1D800)
_MOST_OUTLINE = 20_000
_NO_TITLE = re.compile(r"\W*(untitled|unnamed|no title|none|null)\W*(document)?[\W\d]*(\.\w{2,4})?", re.IGNORECASE)
_BOLD = re.compile(r"bold|black|heavy|semibd|demi", re.IGNORECASE)
_MONO = re.compile(r"mono|courier|consol|menlo|typewriter|cmtt|code|\bnimbusmon", re.IGNORECASE)
_SPELLED = {ord(c): s for c, s in zip("ﬀﬁﬂﬃﬄﬅﬆ", ("ff", "fi", "fl", "ffi", "ffl", "st", "st"), strict=True)}
_SPELLED |= {0x02: "-", 0xAD: "-", 0xFFFE: "-", 0xA0: " ", 0xF0B7: "•", 0xF0A7: "▪", 0xF0D8: "➢", 0xF02D: "-"}
_SPELLED |= dict.fromkeys([0x200B, 0xFEFF], "")


class Fill(NamedTuple):
    box: "Box"
    colour: tuple[int, int, int]


class Box(NamedTuple):
    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def size(self) -> float:
        """Area in square points."""
        return (self.x1 - self.x0) * (self.y1 - self.y0)


class Font(NamedTuple):
    name: str
    size: float
    """Height of the letters in points, rounded to a half."""
    bold: bool
    mono: bool


@dataclass(frozen=True, slots=True)
class Glyph:
    text: str
    x0: float
    x1: float
    y: float
    """Baseline of its line."""
    font: Font
    word_gap: float
    """Smallest gap before the glyph, in font sizes, that begins a word."""


@dataclass(slots=True)
class Page:
    number: int
    area: Box
    glyphs: list[Glyph]
    turned: list[Glyph]
    """Text that is not level, such as a label along an axis, turned to be level."""
    rulings: list[Box]
    fills: list[Fill]
    """Coloured areas, which mark the header of a table; later ones cover earlier ones."""
    images: list[Box]
    links: list[Box]
    unknown: int
    """Number of glyphs that stand for no character."""


@dataclass(slots=True)
class Bookmark:
    level: int
    title: str
    page: int
    y: float
    """Position on the page; minus infinity if not stated."""


def load(page: pdfium.PdfPage, number: int) -> Page:
    """Read a page of pypdfium2.

    Raises:
        pdfium.PdfiumError: its text cannot be read.
    """
    text = page.get_textpage()
    try:
        by_turn, unknown = _glyphs(text)
    finally:
        text.close()
    turn = max(by_turn, key=lambda t: len(by_turn[t]), default=0)
    level = by_turn.pop(turn, [])
    try:
        rulings, fills, images = _drawn(page, turn)
    except pdfium.PdfiumError:  # Keep the text without the drawings.
        rulings, fills, images = [], [], []
    rest = [glyph for glyphs in by_turn.values() for glyph in glyphs]
    return Page(
        number, _turned(page.get_bbox(), turn), level, rest, rulings, fills, images, _links(page, turn), unknown
    )


def _glyphs(text: pdfium.PdfTextPage) -> tuple[dict[int, list[Glyph]], int]:
    """Return the glyphs in file order, by the quarter turns of their lines, and the number of unknown glyphs."""
    found: dict[int, list[Glyph]] = {}
    fonts: dict[int | None, tuple[Font, int]] = {}
    rect, x, y = raw.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
    word_gap = _NO_SPACE
    unknown = high = 0
    for i in range(text.count_chars()):
        code = raw.FPDFText_GetUnicode(text, i)
        if code in _HIGH:  # pdfium returns UTF-16.
            high = code
            continue
        if code in _LOW and high:
            code = 0x10000 + ((high - _HIGH.start) << 10) + code - _LOW.start
        high = 0
        drawn = ctypes.cast(raw.FPDFText_GetTextObject(text, i), ctypes.c_void_p).value
        character = _SPELLED.get(code) or (chr(code) if code <= 0x10FFFF else _UNKNOWN)
        if (not drawn and code != 0x02) or character.isspace() or (code in _SPELLED and not _SPELLED[code]):
            word_gap = min(word_gap, _GENERATED if raw.FPDFText_IsGenerated(text, i) else _SPACE)
            continue
        if 0xD800 <= code <= 0xF8FF or code == 0xFFFD or (code < 0x20 and code != 0x02):
            unknown += 1
            character = _UNKNOWN
        if code in _MATHEMATICAL:
            character = unicodedata.normalize("NFKC", character)
        if drawn not in fonts:
            fonts[drawn] = _font(text, i)
        font, turn = fonts[drawn]
        raw.FPDFText_GetLooseCharBox(text, i, rect)
        raw.FPDFText_GetCharOrigin(text, i, x, y)
        box = _turned((rect.left, rect.bottom, rect.right, rect.top), turn)
        line = _turned((x.value, y.value, x.value, y.value), turn).y0
        found.setdefault(turn, []).append(Glyph(character, box.x0, box.x1, line, font, word_gap))
        word_gap = _NO_SPACE
    usual = median(g.font.size for glyphs in found.values() for g in glyphs) if found else 0.0
    for turn, glyphs in found.items():
        found[turn] = [g for g in glyphs if g.text != _UNKNOWN or g.font.size < _ICON * usual]
    return found, unknown


def _font(text: pdfium.PdfTextPage, index: int) -> tuple[Font, int]:
    """Return the font of a character, and its number of quarter turns to the left."""
    name, flags, matrix = ctypes.create_string_buffer(128), ctypes.c_int(), raw.FS_MATRIX()
    raw.FPDFText_GetFontInfo(text, index, name, len(name), flags)
    raw.FPDFText_GetMatrix(text, index, matrix)
    called = name.value.decode(errors="replace")
    # Use the height: some typesetters stretch only the width of a font.
    size = raw.FPDFText_GetFontSize(text, index) * (matrix.c**2 + matrix.d**2) ** 0.5
    bold = bool(_BOLD.search(called)) or (raw.FPDFText_GetFontWeight(text, index) >= _BOLD_WEIGHT and "-" not in called)
    mono = bool(flags.value & _FIXED_PITCH or _MONO.search(called))
    steep = abs(matrix.b) > abs(matrix.a)
    turn = (1 if matrix.b > 0 else 3) if steep else (0 if matrix.a >= 0 else 2)
    return Font(called, round(2 * size) / 2, bold, mono), turn


def _turned(box: tuple[float, float, float, float], turn: int) -> Box:
    """Return a box of the file as it is seen when the text is turned `turn` quarter turns to the left."""
    left, bottom, right, top = box
    match turn:
        case 0:
            return Box(left, -top, right, -bottom)
        case 1:
            return Box(bottom, left, top, right)
        case 2:
            return Box(-right, bottom, -left, top)
        case _:
            return Box(-top, -right, -bottom, -left)


def _drawn(page: pdfium.PdfPage, turn: int) -> tuple[list[Box], list[Fill], list[Box]]:
    """Return the ruling lines, coloured areas and images of a page."""
    rulings: list[Box] = []
    fills: list[Fill] = []
    images: list[Box] = []
    kinds = (raw.FPDF_PAGEOBJ_PATH, raw.FPDF_PAGEOBJ_IMAGE)
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    budget = _MOST_SEGMENTS
    for drawn in page.get_objects(filter=kinds, max_depth=_FORM_DEPTH):
        if drawn.type == raw.FPDF_PAGEOBJ_IMAGE:
            left, bottom, right, top = drawn.get_bounds()
            images.append(_turned(_placed([(left, bottom), (right, top)], drawn.container), turn))
            continue
        budget -= raw.FPDFPath_CountSegments(drawn)
        if budget < 0:
            break
        raw.FPDFPath_GetDrawMode(drawn, fill, stroke)
        for outline in _outlines(drawn):
            box = _turned(_placed(outline, drawn), turn)
            if _is_thin(box):
                rulings.append(box)
            elif stroke:
                sides = (_turned(_placed([*side], drawn), turn) for side in pairwise(outline))
                rulings += [side for side in sides if _is_thin(side)]
            elif fill.value:
                fills.append(Fill(box, _colour(drawn)))
    return rulings, fills, images


def _links(page: pdfium.PdfPage, turn: int) -> list[Box]:
    at, link, rect = ctypes.c_int(0), raw.FPDF_LINK(), raw.FS_RECTF()
    found: list[Box] = []
    while len(found) < _MOST_LINKS and raw.FPDFLink_Enumerate(page, at, link):
        if raw.FPDFLink_GetAnnotRect(link, rect):
            found.append(_turned((rect.left, rect.bottom, rect.right, rect.top), turn))
    return found


def _outlines(path: pdfium.PdfObject) -> Iterator[list[tuple[float, float]]]:
    """Yield the corners of each outline of a path; a closed outline ends where it begins."""
    corners: list[tuple[float, float]] = []
    x, y = ctypes.c_float(), ctypes.c_float()
    for i in range(raw.FPDFPath_CountSegments(path)):
        segment = raw.FPDFPath_GetPathSegment(path, i)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        if raw.FPDFPathSegment_GetType(segment) == raw.FPDF_SEGMENT_MOVETO and corners:
            yield corners
            corners = []
        corners.append((x.value, y.value))
        if raw.FPDFPathSegment_GetClose(segment):
            corners.append(corners[0])
    if len(corners) > 1:
        yield corners


def _placed(points: list[tuple[float, float]], drawn: pdfium.PdfObject) -> tuple[float, float, float, float]:
    """Return the box around points of an object, placed on the page by its matrix and those of the forms around it."""
    while drawn is not None:
        matrix = drawn.get_matrix()
        points = [matrix.on_point(*point) for point in points]
        drawn = drawn.container
    xs, ys = zip(*points, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def _colour(drawn: pdfium.PdfObject) -> tuple[int, int, int]:
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    raw.FPDFPageObj_GetFillColor(drawn, red, green, blue, alpha)
    return red.value, green.value, blue.value


def _is_thin(box: Box) -> bool:
    return min(box.x1 - box.x0, box.y1 - box.y0) <= THIN


def title_of(document: pdfium.PdfDocument) -> str:
    """Return the title that the document states; empty if that only says that it has none."""
    title = _clean(partial(document.get_metadata_value, "Title"))
    return "" if _NO_TITLE.fullmatch(title) else title


def outline_of(document: pdfium.PdfDocument) -> list[Bookmark]:
    """Return the entries of the outline that lead to a page."""
    found = []
    for entry, _ in zip(document.get_toc(), range(_MOST_OUTLINE), strict=False):
        title = _clean(entry.get_title)
        if title and (target := entry.get_dest()) and (page := target.get_index()) is not None:
            mode, view = target.get_view()
            y = -view[1] if mode == raw.PDFDEST_VIEW_XYZ and len(view) > 1 and view[1] else float("-inf")
            found.append(Bookmark(entry.level + 1, title, page + 1, y))
    return found


def _clean(title: Callable[[], str]) -> str:
    """Return a title from pypdfium2 as one line; empty if it cannot be decoded."""
    try:
        return " ".join(unicodedata.normalize("NFKC", title()).replace("\0", "").split())
    except UnicodeDecodeError:
        return ""

"""PDF through pdfium: lines and tables of each page, then headings, paragraphs and lists across pages.

The page, counted from 1, takes the place of the line in the file.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from ingest.builder import Cell, DocumentBuilder, ParsedDocument
from ingest.readers.pdf.captions import CAPTION, TITLE, is_continued
from ingest.readers.pdf.figures import figures_of
from ingest.readers.pdf.furniture import move_furniture
from ingest.readers.pdf.lines import (
    GlyphRun,
    Line,
    Placed,
    Sheet,
    Style,
    body_font,
    code_of,
    flows,
    lines_of,
    pieces_of,
    spacing_of,
)
from ingest.readers.pdf.listings import mark_listings
from ingest.readers.pdf.outline import HEADING_LINES, match, title_keys
from ingest.readers.pdf.page import Bookmark, Page, load, outline_of, title_of
from ingest.readers.pdf.tables import Grid, grids_of
from ingest.readers.pdf.words import joined, vocabulary_of
from ingest.source import Source
from kb.errors import DocumentError

_UNKNOWN_SHARE = 0.3
"""A page is unreadable if more than this share of its glyphs stands for no character."""
_WHOLE_PAGE = 0.5
_HEADING_SIZE, _HEADING_CHARACTERS = 1.12, 120
_CAPTION_GAP, _CAPTION_LINES = 30.0, 3

_CODE_GAP, _WITHIN_SENTENCE, _INDENT = 2.2, 1.3, 0.8

_BULLET = re.compile(r"([•◦▪▫‣⁃∙·●○■□➢➤✓\ufffd*–—-])\s+(?=\S)")
_NUMBER = re.compile(r"(\(?(?:\d{1,2}|[a-z])[.)])\s+(?=\S)")
_ENDED = (".", ":", ";", "!", "?")


def read(source: Source) -> ParsedDocument:
    try:
        opened = pdfium.PdfDocument(source.content)
    except pdfium.PdfiumError as error:
        if error.err_code == raw.FPDF_ERR_PASSWORD:
            raise DocumentError(f"{source.path} is encrypted", hint="save it without a password") from error
        raise DocumentError(f"{source.path} is not a readable PDF: {error}", hint="save it as PDF again") from error
    builder = DocumentBuilder()
    with opened as document:
        if title := title_of(document):
            builder.metadata["title"] = title
        bookmarks = outline_of(document)
        sheets = list(_sheets(document, builder))
    for number, text in move_furniture(sheets, bookmarks):
        builder.furniture(text, number)
    for sheet in sheets:
        mark_listings(sheet.parts)
    _Writer(builder, sheets, bookmarks).write()
    return builder.build()


def _sheets(document: pdfium.PdfDocument, builder: DocumentBuilder) -> Iterator[Sheet]:
    """Yield the readable pages; warn about the others, whose text becomes furniture."""
    unread: dict[str, list[int]] = defaultdict(list)
    for number in range(1, len(document) + 1):
        try:
            shown = document[number - 1]
            page = load(shown, number)
            shown.close()
        except pdfium.PdfiumError:
            unread["cannot be read"].append(number)
            continue
        size = page.area.size
        glyphs = len(page.glyphs) + len(page.turned)
        if page.unknown > _UNKNOWN_SHARE * glyphs:
            unread["needs OCR"].append(number)
            for line in lines_of(pieces_of([*page.glyphs, *page.turned])):
                builder.furniture(line.text, number)
        elif not glyphs and any(image.size >= _WHOLE_PAGE * size for image in page.images):
            unread["needs OCR"].append(number)
        else:
            yield _sheet(page)
    for what, numbers in unread.items():
        builder.warnings += [f"page {number} {what}" for number in numbers]


def _sheet(page: Page) -> Sheet:
    grids, glyphs = grids_of(page)
    figures = figures_of(page, [grid.box for grid in grids])
    parts: list[Placed] = []
    pieces: list[Placed] = [*pieces_of(glyphs), *grids, *figures]
    for flow in flows(pieces):
        lines = lines_of((p for p in flow if isinstance(p, GlyphRun)), page.links)
        others = [p for p in flow if not isinstance(p, GlyphRun)]
        parts += sorted([*lines, *others], key=lambda p: p.box.y1 if isinstance(p, Line) else p.box.y0)
    parts += lines_of(pieces_of(page.turned))
    return Sheet(page.number, page.area, parts)


class _Writer:
    def __init__(self, builder: DocumentBuilder, sheets: Sequence[Sheet], bookmarks: Sequence[Bookmark]) -> None:
        self._out = builder
        self._sheets = sheets
        lines = [part for sheet in sheets for part in sheet.parts if isinstance(part, Line)]
        grids = (part for sheet in sheets for part in sheet.parts if isinstance(part, Grid))
        self._words = vocabulary_of(
            (line.text for line in lines), (text for grid in grids for cell in grid.cells for text in cell.lines)
        )
        self._asides = Counter(line.aside for line in lines)
        self._body, self._body_is_bold = body_font(lines)
        self._spacing = spacing_of(sheets)
        self._headings, self._unmatched = match(bookmarks, sheets)
        self._levels = self._levels_of_fonts(lines)
        self._open: list[tuple[int, Line]] = []
        """Lines of the paragraph, item or code not yet written, with their pages."""
        self._marker = ""
        self._lists: list[float] = []
        """Left edges of the open lists, outermost first."""
        self._tables: list[tuple[int, Grid]] = []
        """Parts of the table not yet written, with their pages."""
        self._caption: tuple[int, str] | None = None
        self._marked_page = 0  # A line on this page says that the open table goes on below it.
        self._captions_above = self._has_captions_above()

    def write(self) -> None:
        for sheet in self._sheets:
            parts = sheet.parts
            i = top = 0
            while i < len(parts):
                part = parts[i]
                self._bookmarks(sheet.number, part.box.y1)
                taken = 1
                if isinstance(part, Grid):
                    self._grid(sheet.number, part, is_first=i == top)
                elif not isinstance(part, Line):
                    self._flush()
                    self._out.text(f"[figure: page {sheet.number}]", sheet.number)
                elif heading := self._headings.get(id(part)):
                    taken = len(heading[2])
                    self._heading(heading[0], heading[2], sheet.number, title=heading[1])
                elif self._says_continued(parts, i, sheet.number, is_first=i == top):
                    self._out.furniture(part.text, sheet.number)
                    top += i == top
                elif caption := self._caption_lines(parts, i):
                    taken = len(caption)
                    self._take_caption(parts, i, caption, sheet.number)
                elif run := self._title(parts, i):
                    taken = len(run)
                    self._heading(self._levels[part.style], run, sheet.number)
                else:
                    self._line(part, sheet.number)
                i += taken
            self._bookmarks(sheet.number, float("inf"))
        self._flush()

    # Headings

    def _bookmarks(self, page: int, y: float) -> None:
        """Write the headings of the outline that the page does not show."""
        waiting = self._unmatched.get(page, [])
        while waiting and waiting[0].y < y:
            bookmark = waiting.pop(0)
            self._flush()
            self._out.heading(bookmark.level, bookmark.title, page)

    def _heading(self, level: int, lines: Sequence[Line], page: int, *, title: str = "") -> None:
        """Write a heading, without the links beside it if `title` has no such words, or many headings have them."""
        self._flush()
        self._lists.clear()
        is_whole = bool(title_keys(title) & title_keys(" ".join(line.text for line in lines)))
        for line in lines:
            if line.aside and not is_whole and (title or self._asides[line.aside] > 1):
                self._out.furniture(line.aside, page)
                line.text, line.aside = line.title, ""
        self._out.heading(level, joined([line.text for line in lines], self._words), page)

    def _title(self, parts: Sequence[Placed], i: int) -> list[Line]:
        """Return the lines from `i` on that are a heading by their font and the space around them."""
        first = parts[i]
        style = first.style if isinstance(first, Line) else None
        run: list[Line] = []
        for part in parts[i : i + HEADING_LINES + 1]:
            near = not run or 0 < part.box.y1 - run[-1].box.y1 <= 1.5 * run[-1].font.size
            if not (isinstance(part, Line) and part.style == style and near and id(part) not in self._headings):
                break
            run.append(part)
        text = " ".join(line.text for line in run)
        above = parts[i - 1] if i else None
        is_near = isinstance(above, Line) and 0 < run[0].y - above.y <= self._gap(run[0])
        if not run or len(run) > HEADING_LINES or not self._may_be_title(run[0]) or len(text) > _HEADING_CHARACTERS:
            return []
        return [] if is_near or text.endswith((".", ",", ";")) or not any(c.isalpha() for c in text) else run

    def _may_be_title(self, line: Line) -> bool:
        larger = line.font.size >= _HEADING_SIZE * self._body
        bolder = line.font.bold and not self._body_is_bold and line.font.size >= self._body
        return (larger or bolder) and not line.font.mono and not _BULLET.match(line.text)

    def _levels_of_fonts(self, lines: Sequence[Line]) -> dict[Style, int]:
        """Return the heading level of each font: as in the outline, else one below all larger fonts."""
        known: dict[Style, Counter[int]] = defaultdict(Counter)
        for level, _, run in self._headings.values():
            known[run[0].style][level] += 1
        styles = {line.style for line in lines if self._may_be_title(line)} | set(known)
        levels: dict[Style, int] = {}
        for style in sorted(styles, key=lambda s: (-s[1], s not in known, not s[2], s[0])):
            counts = known.get(style)
            levels[style] = max(counts, key=lambda c: counts[c]) if counts else 1 + max(levels.values(), default=0)
        return levels

    # Text

    def _gap(self, line: Line) -> float:
        """Return the largest distance between two lines of one paragraph."""
        return 1.15 * self._spacing.get(line.font.size, 1.2 * line.font.size) + 0.5

    def _line(self, line: Line, page: int) -> None:
        self._flush_table()
        marked = _BULLET.match(line.text) or _NUMBER.match(line.text)
        last_page, last = self._open[-1] if self._open else (0, None)
        goes_on = last is not None and (
            self._goes_on(last, line) if last_page == page else self._goes_over(last, line, page - last_page)
        )
        if goes_on and marked and last and (_BULLET.match(line.text) or self._marker or last.text.endswith(_ENDED)):
            goes_on = False
        if not goes_on:
            self._flush_text()
            self._marker = "" if line.font.mono or not marked else marked[1]
        self._open.append((page, line))

    def _goes_on(self, last: Line, line: Line) -> bool:
        """Whether a line belongs to the paragraph, item or code of the line above it."""
        first = self._open[0][1]
        down = line.y - last.y
        if first.font.mono:
            return line.font.mono and 0 < down <= _CODE_GAP * self._gap(line)
        if line.font.mono and last.text.endswith(_ENDED):
            return False
        size = line.font.size
        gap = self._gap(last if last.font.size > size else line)
        if line.text[:1].islower() and not last.text.endswith(_ENDED):
            gap *= _WITHIN_SENTENCE
        if not 0 < down <= gap or abs(size - last.font.size) > 1:
            return False
        indented = line.box.x0 - (first.box.x0 if len(self._open) == 1 else last.box.x0)
        if self._marker:
            return line.box.x0 >= first.box.x0 - 1
        return -_INDENT * 4 * size <= indented <= _INDENT * size

    def _goes_over(self, last: Line, line: Line, pages: int) -> bool:
        """Whether a paragraph continues at the top of the next page."""
        alike = line.font.size == last.font.size and not last.font.mono and not line.font.mono
        return pages == 1 and alike and not last.text.endswith(_ENDED) and line.text[:1].islower()

    def _flush(self) -> None:
        self._flush_table()
        self._flush_text()

    def _flush_text(self) -> None:
        lines, self._open = self._open, []
        if not lines:
            return
        page, first = lines[0]
        if first.font.mono:
            self._lists.clear()
            self._out.code(code_of([line for _, line in lines], blank_from=1.4 * self._gap(first)), page, step=0)
            return
        texts: dict[int, list[str]] = defaultdict(list)
        for number, line in lines:
            texts[number].append(line.text)
        numbered = [(number, joined(parts, self._words)) for number, parts in texts.items()]
        if self._marker:
            while self._lists and first.box.x0 < self._lists[-1] - 2:
                self._lists.pop()
            if not self._lists or first.box.x0 > self._lists[-1] + 4:
                self._lists.append(first.box.x0)
            numbered[0] = page, numbered[0][1][len(self._marker) :].strip()
            marker = self._marker if self._marker[-1] in ".)" else "-"
            self._out.lines(numbered, depth=len(self._lists) - 1, marker=marker)
        else:
            if self._lists and first.box.x0 < self._lists[-1] + 4:
                self._lists.clear()
            self._out.lines(numbered)

    # Tables

    def _says_continued(self, parts: Sequence[Placed], i: int, page: int, *, is_first: bool) -> bool:
        """Whether a line only says that the open table goes on, on the page before it or after it."""
        line = parts[i]
        if not isinstance(line, Line) or not self._tables or not is_continued(line.text):
            return False
        following = parts[i + 1] if i + 1 < len(parts) else None
        if isinstance(following, Grid):
            self._marked_page = page if is_first else 0
            return is_first and self._continues(page, following)
        return following is None

    def _caption_lines(self, parts: Sequence[Placed], i: int) -> list[Line]:
        """Return the lines of a caption at `i` that stands above or below a table."""
        first = parts[i]
        if not isinstance(first, Line) or not CAPTION.match(first.text):
            return []
        run = [first]
        for part in parts[i + 1 : i + _CAPTION_LINES] if self._is_set_off(first) else ():
            if not isinstance(part, Line) or part.style != first.style or not 0 < part.y - run[-1].y <= self._gap(part):
                break
            run.append(part)
        if _distance(run[-1], parts[i + len(run) : i + len(run) + 1]) <= _CAPTION_GAP:
            return run
        return run[:1] if _distance(first, parts[max(0, i - 1) : i + 2]) <= _CAPTION_GAP else []

    def _is_set_off(self, line: Line) -> bool:
        """Whether a line that begins as a caption is none of a paragraph about the table."""
        is_smaller, is_bolder = line.font.size < self._body, line.font.bold and not self._body_is_bold
        return is_smaller or is_bolder or TITLE.match(line.text) is not None

    def _take_caption(self, parts: Sequence[Placed], i: int, lines: Sequence[Line], page: int) -> None:
        """Keep a caption for the table on its side in this document, else for the nearer one that has none."""
        above, below = _distances(parts, i, lines)
        is_above = self._captions_above and below <= _CAPTION_GAP
        if not self._tables or self._caption or is_above or below < above - 1:
            self._flush()
        self._caption = page, joined([line.text for line in lines], self._words)

    def _has_captions_above(self) -> bool:
        """Whether most captions that stand beside one table only are above it."""
        sides = Counter[bool]()
        for parts in (sheet.parts for sheet in self._sheets):
            for i in range(len(parts)):
                if (run := self._caption_lines(parts, i)) and self._is_set_off(run[0]):
                    above, below = (distance <= _CAPTION_GAP for distance in _distances(parts, i, run))
                    sides[below] += above != below
        return sides[True] > sides[False]

    def _continues(self, page: int, grid: Grid) -> bool:
        """Whether a table at the top of a page continues the open one."""
        if not self._tables or page != self._tables[-1][0] + 1:
            return False
        last = self._tables[-1][1]
        is_marked = page == self._marked_page or any(map(is_continued, grid.bands))
        caption = next((band for band in grid.bands if not is_continued(band)), "")
        is_repeated = not caption or (self._caption is not None and caption == self._caption[1])
        return is_repeated and (grid.has_columns_of(last) or (is_marked and len(grid.xs) == len(last.xs)))

    def _grid(self, page: int, grid: Grid, *, is_first: bool) -> None:
        self._flush_text()
        goes_on = is_first and self._continues(page, grid)
        if self._tables and not goes_on:
            self._flush_table()
        for band in grid.bands:
            if goes_on or (is_continued(band) and not CAPTION.match(band)):
                self._out.furniture(band, page)
            else:
                self._flush_table()
                self._caption = page, band
        self._tables.append((page, grid))

    def _flush_table(self) -> None:
        tables, caption = self._tables, self._caption
        self._tables, self._caption = [], None
        if not tables:
            if caption:
                self._out.text(caption[1], caption[0])
            return
        rows: list[list[Cell]] = []
        pages: list[int] = []
        header: list[str] = []
        header_rows = tables[0][1].header_rows
        for page, grid in tables:
            cells = [[Cell(joined(c.lines, self._words), c.rows, c.columns) for c in row] for row in grid.rows]
            top = [cell.text for row in cells[:header_rows] for cell in row]
            if rows and top == header:
                self._out.furniture(" ".join(top), page)
                cells = cells[header_rows:]
            header = header or top
            rows += cells
            pages += [page] * len(cells)
        self._out.table(rows, header_rows=header_rows, row_lines=pages, caption=caption[1] if caption else "")


def _distances(parts: Sequence[Placed], i: int, lines: Sequence[Line]) -> tuple[float, float]:
    """Return the distances of lines at `i` from the tables above and below them, in points."""
    end = i + len(lines)
    return _distance(lines[0], parts[max(0, i - 1) : i]), _distance(lines[-1], parts[end : end + 1])


def _distance(line: Line, parts: Sequence[Placed]) -> float:
    """Return the distance of a line from the nearest table of `parts`, in points."""
    tables = (part.box for part in parts if isinstance(part, Grid))
    return min((min(abs(box.y0 - line.box.y1), abs(line.box.y0 - box.y1)) for box in tables), default=float("inf"))

"""PDF through pdfium: lines and tables of each page, then headings, paragraphs and lists across pages.

The page, counted from 1, takes the place of the line in the file.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from ingest.builder import Cell, DocumentBuilder, ParsedDocument
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
from ingest.readers.pdf.page import Bookmark, Box, Page, clean, load, outline_of
from ingest.readers.pdf.tables import Grid, grids_of
from ingest.readers.pdf.words import joined, vocabulary_of
from ingest.source import Source
from kb.errors import DocumentError

_UNKNOWN_SHARE = 0.3
"""A page is unreadable if more than this share of its glyphs stands for no character."""
_LARGE_IMAGE, _WHOLE_PAGE = 0.1, 0.5
_HEADING_SIZE, _HEADING_CHARACTERS, _HEADING_LINES = 1.12, 120, 3
_CAPTION_GAP = 30.0
_FAR = 1e6
_CODE_GAP, _WITHIN_SENTENCE, _INDENT = 2.2, 1.3, 0.8

_CAPTION = re.compile(r"(table|figure|fig\.|listing)\s*[A-Z]?[\d.-]+", re.IGNORECASE)
_NO_TITLE = re.compile(r"\W*(untitled|unnamed|no title|none|null)\W*(document)?[\W\d]*(\.\w{2,4})?", re.IGNORECASE)
_BULLET = re.compile(r"([•◦▪▫‣⁃∙·●○■□➢➤✓\ufffd*–—-])\s+(?=\S)")
_NUMBER = re.compile(r"(\(?(?:\d{1,2}|[a-z])[.)])\s+(?=\S)")
_NUMBERING = re.compile(r"((?:chapter|appendix|part)\s+)?([\divxlc]+|[A-Z])([.\d]*)[.:]?\s+", re.IGNORECASE)
_CHAPTER = re.compile(r"(chapter|appendix|part)\s+\w{1,5}", re.IGNORECASE)
_ENDED = (".", ":", ";", "!", "?")


@dataclass(frozen=True, slots=True)
class Figure:
    box: Box


def read(source: Source) -> ParsedDocument:
    try:
        opened = pdfium.PdfDocument(source.content)
    except pdfium.PdfiumError as error:
        if error.err_code == raw.FPDF_ERR_PASSWORD:
            raise DocumentError(f"{source.path} is encrypted", hint="save it without a password") from error
        raise DocumentError(f"{source.path} is not a readable PDF: {error}", hint="save it as PDF again") from error
    builder = DocumentBuilder()
    with opened as document:
        title = clean(partial(document.get_metadata_value, "Title"))
        if title and not _NO_TITLE.fullmatch(title):
            builder.metadata["title"] = title
        bookmarks = outline_of(document)
        sheets = list(_sheets(document, builder))
    for number, text in move_furniture(sheets):
        builder.furniture(text, number)
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
        size = _area(page.area)
        glyphs = len(page.glyphs) + len(page.turned)
        if page.unknown > _UNKNOWN_SHARE * glyphs:
            unread["needs OCR"].append(number)
            for line in lines_of(pieces_of([*page.glyphs, *page.turned])):
                builder.furniture(line.text, number)
        elif not glyphs and any(_area(image) >= _WHOLE_PAGE * size for image in page.images):
            unread["needs OCR"].append(number)
        else:
            yield _sheet(page)
    for what, numbers in unread.items():
        builder.warnings += [f"page {number} {what}" for number in numbers]


def _sheet(page: Page) -> Sheet:
    grids, glyphs = grids_of(page)
    figures = [Figure(image) for image in page.images if _area(image) >= _LARGE_IMAGE * _area(page.area)]
    parts: list[Placed] = []
    pieces: list[Placed] = [*pieces_of(glyphs), *grids, *figures[:1]]
    for flow in flows(pieces):
        lines = lines_of(p for p in flow if isinstance(p, GlyphRun))
        others = [p for p in flow if not isinstance(p, GlyphRun)]
        parts += sorted([*lines, *others], key=lambda p: p.box.y1 if isinstance(p, Line) else p.box.y0)
    parts += lines_of(pieces_of(page.turned))
    return Sheet(page.number, page.area, parts)


def _area(box: Box) -> float:
    return (box.x1 - box.x0) * (box.y1 - box.y0)


class _Writer:
    """Writes headings, paragraphs, lists, code and tables in reading order."""

    def __init__(self, builder: DocumentBuilder, sheets: Sequence[Sheet], bookmarks: Sequence[Bookmark]) -> None:
        self._out = builder
        self._sheets = sheets
        lines = [part for sheet in sheets for part in sheet.parts if isinstance(part, Line)]
        grids = (part for sheet in sheets for part in sheet.parts if isinstance(part, Grid))
        self._words = vocabulary_of(
            (line.text for line in lines), (text for grid in grids for cell in grid.cells for text in cell.lines)
        )
        self._body, self._body_is_bold = body_font(lines)
        self._spacing = spacing_of(sheets)
        self._headings, self._unmatched = _match(bookmarks, sheets)
        self._levels = self._levels_of_fonts(lines)
        self._open: list[tuple[int, Line]] = []
        """Lines of the paragraph, item or code not yet written, with their pages."""
        self._marker = ""
        self._lists: list[float] = []
        """Left edges of the open lists, outermost first."""
        self._tables: list[tuple[int, Grid]] = []
        """Parts of the table not yet written, with their pages."""
        self._caption: tuple[int, str] | None = None

    def write(self) -> None:
        for sheet in self._sheets:
            parts = sheet.parts
            i = 0
            while i < len(parts):
                part = parts[i]
                self._bookmarks(sheet.number, part.box.y1)
                taken = 1
                if isinstance(part, Grid):
                    self._grid(sheet.number, part, is_first=i == 0)
                elif not isinstance(part, Line):
                    self._flush()
                    self._out.text(f"[figure: page {sheet.number}]", sheet.number)
                elif heading := self._headings.get(id(part)):
                    taken = len(heading[1])
                    self._heading(heading[0], heading[1], sheet.number)
                elif _CAPTION.match(part.text) and self._is_caption(parts, i):
                    self._take_caption(part, sheet.number)
                elif title := self._title(parts, i):
                    taken = len(title)
                    self._heading(self._levels[part.style], title, sheet.number)
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

    def _heading(self, level: int, lines: Sequence[Line], page: int) -> None:
        self._flush()
        self._lists.clear()
        self._out.heading(level, joined([line.text for line in lines], self._words), page)

    def _title(self, parts: Sequence[Placed], i: int) -> list[Line]:
        """Return the lines from `i` on that are a heading by their font and the space around them."""
        first = parts[i]
        style = first.style if isinstance(first, Line) else None
        run: list[Line] = []
        for part in parts[i : i + _HEADING_LINES + 1]:
            near = not run or 0 < part.box.y1 - run[-1].box.y1 <= 1.5 * run[-1].font.size
            if not (isinstance(part, Line) and part.style == style and near and id(part) not in self._headings):
                break
            run.append(part)
        text = " ".join(line.text for line in run)
        above = parts[i - 1] if i else None
        is_near = isinstance(above, Line) and 0 < run[0].y - above.y <= self._gap(run[0])
        if not run or len(run) > _HEADING_LINES or not self._may_be_title(run[0]) or len(text) > _HEADING_CHARACTERS:
            return []
        return [] if is_near or text.endswith((".", ",", ";")) or not any(c.isalpha() for c in text) else run

    def _may_be_title(self, line: Line) -> bool:
        larger = line.font.size >= _HEADING_SIZE * self._body
        bolder = line.font.bold and not self._body_is_bold and line.font.size >= self._body
        return (larger or bolder) and not line.font.mono and not _BULLET.match(line.text)

    def _levels_of_fonts(self, lines: Sequence[Line]) -> dict[Style, int]:
        """Return the heading level of each font: as in the outline, else one below all larger fonts."""
        known: dict[Style, Counter[int]] = defaultdict(Counter)
        for level, heading in self._headings.values():
            known[heading[0].style][level] += 1
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

    def _is_caption(self, parts: Sequence[Placed], i: int) -> bool:
        return any(
            isinstance(part, Grid)
            and min(abs(part.box.y0 - parts[i].box.y1), abs(parts[i].box.y0 - part.box.y1)) <= _CAPTION_GAP
            for part in parts[max(0, i - 1) : i + 2]
        )

    def _take_caption(self, line: Line, page: int) -> None:
        """Keep a caption for the table above, or if that has one, for the table below."""
        if not self._tables or self._caption:
            self._flush()
        self._caption = page, line.text

    def _grid(self, page: int, grid: Grid, *, is_first: bool) -> None:
        self._flush_text()
        last_page, last = self._tables[-1] if self._tables else (0, None)
        if last and not (is_first and page == last_page + 1 and grid.has_columns_of(last)):
            self._flush_table()
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


def _match(
    bookmarks: Sequence[Bookmark], sheets: Sequence[Sheet]
) -> tuple[dict[int, tuple[int, list[Line]]], dict[int, list[Bookmark]]]:
    """Return the outline's headings (level, lines) by the id of their first line, and the bookmarks without a line."""
    by_page = {sheet.number: sheet for sheet in sheets}
    titles: dict[int, dict[str, list[list[Line]]]] = {}
    found: dict[int, tuple[int, list[Line]]] = {}
    missing: dict[int, list[Bookmark]] = defaultdict(list)
    for bookmark in bookmarks:
        runs: list[list[Line]] = []
        for page in (bookmark.page, bookmark.page + 1, bookmark.page - 1):
            if page in by_page and not runs:
                if page not in titles:
                    titles[page] = _titles(by_page[page])
                candidates = {
                    id(run[0]): run for key in _title_keys(bookmark.title) for run in titles[page].get(key, [])
                }
                runs = [run for first, run in candidates.items() if first not in found]
        if runs:
            run = min(runs, key=lambda r: (-len(r), abs(r[0].box.y0 - max(bookmark.y, -_FAR))))
            found[id(run[0])] = bookmark.level, run
        elif bookmark.page in by_page and by_page[bookmark.page].parts:
            missing[bookmark.page].append(bookmark)
    for waiting in missing.values():
        waiting.sort(key=lambda b: b.y)
    return found, missing


def _titles(sheet: Sheet) -> dict[str, list[list[Line]]]:
    """Return all runs of lines on a page that may be a heading, by their words."""
    lines = [part for part in sheet.parts if isinstance(part, Line)]
    titles: dict[str, list[list[Line]]] = defaultdict(list)
    for i in range(len(lines)):
        for count in range(1, _HEADING_LINES + 1):
            run = lines[i : i + count]
            is_chapter = _CHAPTER.fullmatch(lines[i].text)
            if len(run) == count and all(is_chapter or line.style[1:] == run[0].style[1:] for line in run):
                for key in _title_keys(" ".join(line.text for line in run)):
                    titles[key].append(run)
    return titles


def _title_keys(title: str) -> set[str]:
    """Return a title with and without its number, reduced to letters and digits."""
    title = unicodedata.normalize("NFKC", title).casefold()
    keys = {re.sub(r"[\W_]+", "", part) for part in (title, _NUMBERING.sub("", title, count=1))}
    return keys - {""}

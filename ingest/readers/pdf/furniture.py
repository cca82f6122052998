"""Separate lines that belong to the page, not the text: running headers, page numbers, lists of contents."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ingest.readers.pdf.lines import Line, Placed, Sheet

_BAND = 0.1
"""Share of the page's height, at its top and at its bottom, that holds running headers and footers."""
_REPEATS, _REPEAT_SHARE = 3, 0.3
_CONTENTS_LINES, _CONTENTS_SHARE = 4, 0.6
_PAGE_NUMBER = re.compile(r"(page\s+)?\W*(\d{1,5}|[ivxlc]+)\W*", re.IGNORECASE)
_LEADERS = re.compile(r"(?:\.\s?){4,}\s*[\divxlc]*$|(?:\s\.){3,}\s*[\divxlc]*$", re.IGNORECASE)
_NUMBERED_ENTRY = re.compile(r"(?=.*[^\W\d]).*\s(\d{1,4})$")
_CONTENTS_TITLE = re.compile(r"contents|(table|list|index) of \w+|index", re.IGNORECASE)


def move_furniture(sheets: Sequence[Sheet]) -> Iterator[tuple[int, str]]:
    """Remove running headers, page numbers and lists of contents from the sheets, and yield them with their pages."""
    counts = Counter(key for sheet in sheets for key in {k for line in _banded(sheet) for k in _keys(sheet, line)})
    least = max(_REPEATS, _REPEAT_SHARE * len(sheets))
    in_contents = False
    for sheet in sheets:
        running = {
            id(line)
            for line in _banded(sheet)
            # Each chapter may number its pages from 1.
            if max(counts[key] for key in _keys(sheet, line))
            >= (_REPEATS if _PAGE_NUMBER.fullmatch(line.text) else least)
        }
        body = [part for part in sheet.parts if id(part) not in running]
        contents, in_contents = _contents(body, continued=in_contents)
        for part in sheet.parts:
            if isinstance(part, Line) and (id(part) in running or id(part) in contents):
                yield sheet.number, part.text
        sheet.parts = [part for part in body if id(part) not in contents]


def _banded(sheet: Sheet) -> Iterator[Line]:
    band = _BAND * (sheet.area.y1 - sheet.area.y0)
    for part in sheet.parts:
        if isinstance(part, Line) and (part.y < sheet.area.y0 + band or part.y > sheet.area.y1 - band):
            yield part


def _keys(sheet: Sheet, line: Line) -> Iterator[tuple[object, ...]]:
    """Yield what running headers of several pages have in common: their words, or how they count the pages."""
    is_top = line.y < (sheet.area.y0 + sheet.area.y1) / 2
    yield is_top, re.sub(r"\d+", "#", line.text.casefold())
    for number in re.findall(r"\d{1,5}", line.text):
        yield is_top, round(line.y / 3), sheet.number - int(number)
    if re.fullmatch(r"[ivxlc]+", line.text):
        yield is_top, round(line.y / 3)


def _contents(parts: Sequence[Placed], *, continued: bool) -> tuple[set[int], bool]:
    """Return the lines of a list of contents or an index, and whether it may continue on the next page."""
    lines = [part for part in parts if isinstance(part, Line)]
    titles = [i for i, line in enumerate(lines) if _CONTENTS_TITLE.fullmatch(line.text.strip())]
    entries = {i for i, line in enumerate(lines) if _LEADERS.search(line.text)}
    if titles or continued:
        first = titles[0] if titles else 0
        numbered = [
            (i, int(m[1])) for i, ln in enumerate(lines) if i >= first and (m := _NUMBERED_ENTRY.match(ln.text))
        ]
        rising = sum(a <= b for (_, a), (_, b) in pairwise(numbered))
        if len(numbered) >= _CONTENTS_LINES and rising >= _CONTENTS_SHARE * len(numbered):
            entries |= {i for i, _ in numbered}
    if not entries:
        return set(), False
    first, last = min(entries), max(entries)
    if len(entries) < max(_CONTENTS_LINES, _CONTENTS_SHARE * (last - first + 1)):
        return {id(lines[i]) for i in entries if _LEADERS.search(lines[i].text)}, False
    # Include titles that run over two lines, and the heading above the list.
    first = max((i for i in titles if i < first), default=first)
    return {id(line) for line in lines[first : last + 1]}, last == len(lines) - 1

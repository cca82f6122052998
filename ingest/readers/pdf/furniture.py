"""Separate lines that belong to the page, not the text: running headers, page numbers, lists of contents."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from ingest.readers.pdf.lines import Figure, Line, Placed, Sheet, body_font
from ingest.readers.pdf.outline import letters_of, title_keys
from ingest.readers.pdf.page import Bookmark

_BAND = 0.1
"""Share of the page's height, at its top and at its bottom, that holds running headers and footers."""
_REPEATS, _REPEAT_SHARE = 3, 0.3
_SHORTEST_TITLE = 4
_STACKED = 1.5
"""Largest step between the lines of a running header, in font sizes."""
_CONTENTS_LINES, _CONTENTS_SHARE = 4, 0.6
_PAGE_NUMBER = re.compile(r"(page\s+)?\W*(\d{1,5}|[ivxlc]+)\W*", re.IGNORECASE)
_LEADERS = re.compile(r"(?:\.\s?){4,}\s*[\divxlc]*$|(?:\s\.){3,}\s*[\divxlc]*$", re.IGNORECASE)
_NUMBERED_ENTRY = re.compile(r"(?=.*[^\W\d]).*\s(\d{1,4})$")
_CONTENTS_TITLE = re.compile(r"contents|(table|list|index) of \w+|index", re.IGNORECASE)


_Places = Mapping[str, tuple[float, float]]
"""For each title of a document, the highest and the lowest place of it on any page."""


def move_furniture(sheets: Sequence[Sheet], bookmarks: Sequence[Bookmark]) -> Iterator[tuple[int, str]]:
    """Remove running headers, page numbers, logos and contents from the sheets; yield texts with their pages."""
    titles = _titles(sheets, bookmarks)
    is_short = len(sheets) < _REPEATS
    keys = {id(part): set(_keys(sheet, part, titles, is_short=is_short)) for sheet in sheets for part in _banded(sheet)}
    counts = Counter(key for sheet in sheets for key in set[_Key]().union(*(keys[id(p)] for p in _banded(sheet))))
    repeats = 2 if is_short else _REPEATS
    least = max(repeats, _REPEAT_SHARE * len(sheets))
    in_contents = False
    for sheet in sheets:
        running = {
            id(part)
            for part in _banded(sheet)
            # Each chapter may number its pages from 1.
            if max(counts[key] for key in keys[id(part)])
            >= (repeats if isinstance(part, Line) and _PAGE_NUMBER.fullmatch(part.text) else least)
        }
        body = [part for part in sheet.parts if id(part) not in running]
        contents, in_contents = _contents(body, continued=in_contents)
        for part in sheet.parts:
            if isinstance(part, Line) and (id(part) in running or id(part) in contents):
                yield sheet.number, part.text
        sheet.parts = [part for part in body if id(part) not in contents]


def _banded(sheet: Sheet) -> Iterator[Line | Figure]:
    band = _BAND * (sheet.area.y1 - sheet.area.y0)
    for part in sheet.parts:
        if isinstance(part, Line | Figure):
            y = part.y if isinstance(part, Line) else (part.box.y0 + part.box.y1) / 2
            if y < sheet.area.y0 + band or y > sheet.area.y1 - band:
                yield part


_Key = tuple[object, ...]


def _keys(sheet: Sheet, part: Line | Figure, titles: _Places, *, is_short: bool) -> Iterator[_Key]:
    """Yield what running headers of several pages have in common.

    It is their words, how they count the pages, or what they show beside titles of the document; of a picture, its
    place. In a document of two pages, headers stand at the same height.
    """
    if isinstance(part, Figure):
        yield tuple(round(side / 3) for side in part.box)
        return
    is_top = part.y < (sheet.area.y0 + sheet.area.y1) / 2
    height = round(part.y / 3)
    yield is_top, re.sub(r"\d+", "#", part.text.casefold()), height * is_short
    if not is_short or _PAGE_NUMBER.fullmatch(part.text):
        for number in re.findall(r"\d{1,5}", part.text):
            yield is_top, height, sheet.number - int(number)
    if re.fullmatch(r"[ivxlc]+", part.text):
        yield is_top, height
    beside = _beside_titles(part, titles, is_top=is_top)
    if beside is not None and _is_outermost(sheet, part, is_top=is_top):
        yield is_top, height, "title", beside


def _is_outermost(sheet: Sheet, line: Line, *, is_top: bool) -> bool:
    """Whether nothing stands between a line and the edge of the page, but lines set together with it."""
    outer = [line.y - p.y if is_top else p.y - line.y for p in sheet.parts if isinstance(p, Line) and p is not line]
    steps = [step for step in outer if step > 0]
    return not steps or min(steps) <= _STACKED * line.font.size


def _titles(sheets: Sequence[Sheet], bookmarks: Sequence[Bookmark]) -> _Places:
    """Return the titles of the outline, and the lines in the type of headings, with their places."""
    lines = [part for sheet in sheets for part in sheet.parts if isinstance(part, Line)]
    size, is_bold = body_font(lines)
    found = [(bookmark.title, bookmark.y) for bookmark in bookmarks]
    found += [(ln.text, ln.box.y0) for ln in lines if ln.font.size > size or (ln.font.bold and not is_bold)]
    places: dict[str, tuple[float, float]] = {}
    for title, y in found:
        for key in title_keys(title):
            if len(key) >= _SHORTEST_TITLE:
                high, low = places.get(key, (y, y))
                places[key] = min(high, y), max(low, y)
    return places


def _beside_titles(line: Line, titles: _Places, *, is_top: bool) -> str | None:
    """Return a line without the titles at its ends that stand nearer to the middle of a page; None if there is none."""
    text = letters_of(line.text)
    found = False
    for at_start in (True, False):
        for count in range(len(text), _SHORTEST_TITLE - 1, -1):
            end, rest = (text[:count], text[count:]) if at_start else (text[-count:], text[:-count])
            if end in titles and (titles[end][1] > line.box.y1 if is_top else titles[end][0] < line.box.y0):
                text, found = rest, True
                break
    return re.sub(r"\d+", "", text) if found else None


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

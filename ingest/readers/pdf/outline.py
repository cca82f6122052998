"""Find the lines of the pages that the entries of the outline name."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence

from ingest.readers.pdf.lines import Line, Sheet
from ingest.readers.pdf.page import Bookmark

HEADING_LINES = 3
"""Most lines of a heading."""
_FAR = 1e6
_NUMBERING = re.compile(r"((?:chapter|appendix|part)\s+)?([\divxlc]+|[A-Z])([.\d]*)[.:]?\s+", re.IGNORECASE)
_CHAPTER = re.compile(r"(chapter|appendix|part)\s+\w{1,5}", re.IGNORECASE)


Heading = tuple[int, str, list[Line]]
"""Level, title in the outline, lines on the page."""


def match(
    bookmarks: Sequence[Bookmark], sheets: Sequence[Sheet]
) -> tuple[dict[int, Heading], dict[int, list[Bookmark]]]:
    """Return the outline's headings by the id of their first line, and the bookmarks without a line."""
    by_page = {sheet.number: sheet for sheet in sheets}
    titles: dict[int, dict[str, list[list[Line]]]] = {}
    found: dict[int, Heading] = {}
    missing: dict[int, list[Bookmark]] = defaultdict(list)
    for bookmark in bookmarks:
        runs: list[list[Line]] = []
        for page in (bookmark.page, bookmark.page + 1, bookmark.page - 1):
            if page in by_page and not runs:
                if page not in titles:
                    titles[page] = _titles(by_page[page])
                candidates = {
                    id(run[0]): run for key in title_keys(bookmark.title) for run in titles[page].get(key, [])
                }
                runs = [run for first, run in candidates.items() if first not in found]
        if runs:
            run = min(runs, key=lambda r: (-len(r), abs(r[0].box.y0 - max(bookmark.y, -_FAR))))
            found[id(run[0])] = bookmark.level, bookmark.title, run
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
        for count in range(1, HEADING_LINES + 1):
            run = lines[i : i + count]
            is_chapter = _CHAPTER.fullmatch(lines[i].text)
            if len(run) == count and all(is_chapter or line.style[1:] == run[0].style[1:] for line in run):
                texts = (" ".join(line.text for line in run), " ".join(line.title for line in run))
                for key in set[str]().union(*map(title_keys, texts)):
                    titles[key].append(run)
    return titles


def title_keys(title: str) -> set[str]:
    """Return a title with and without its number, reduced to letters and digits."""
    title = unicodedata.normalize("NFKC", title)
    return {letters_of(title), letters_of(_NUMBERING.sub("", title, count=1))} - {""}


def letters_of(text: str) -> str:
    """Return the letters and digits of a text, in lower case."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text).casefold())

"""Lines of code files that are kept but not searched: licence headers, include guards, tables of numbers."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from ingest.readers.code.text import Code

_SEARCHED_DATA_LINES = 16
"""Number of lines of a table of numbers that are searched."""
_LONGEST_LINE = 2000
"""A longer line is data, too."""
_TOP = 5
"""Number of lines that may tell an interpreter or an editor how to treat the file."""

_NUMBER = r"[-+]?(?:0[xXbB][\da-fA-F_]+|\d[\d.]*(?:[eE][-+]?\d+)?)[a-zA-Z]{0,3}"
_NUMBERS = re.compile(rf"[\s,;:{{}}()\[\]|]*+(?:{_NUMBER}[\s,;:{{}}()\[\]|]++)+(?:{_NUMBER})?")
_BEGINS_LICENCE = re.compile(
    r"copyright (?:\(c\)|©|\d{4})|copyright\b.{0,60}\b(?:19|20)\d\d\b|\(c\) copyright|SPDX-|licensed under|"
    r"permission is hereby|rights reserved",
    re.IGNORECASE,
)
_IN_LICENCE = re.compile(r"copyright|SPDX-|licen[cs]e|permission is|redistribut|warrant|rights reserved", re.IGNORECASE)
_MODE_LINE = re.compile(r"#!.*|.*-\*-.*coding[:=].*-\*-.*|\W*coding[:=].*|\W*vim?:.*")
_GUARD = re.compile(r"^#ifndef[ \t]+(\w+)\n#define[ \t]+\1\b.*$|^#pragma once.*$", re.MULTILINE)


def boilerplate(code: Code) -> Iterator[int]:
    """Yield the lines of licences, of the include guard, and those for an interpreter or an editor."""
    yield from (n for n, line in enumerate(code.lines[:_TOP]) if _MODE_LINE.fullmatch(line))
    if guard := _GUARD.search(code.text):
        yield from range(code.line_of(guard.start()), code.line_of(guard.end()) + 1)
    for says_nothing, run in groupby(range(len(code.lines)), key=code.says_nothing):
        if says_nothing:
            yield from _licence(code, list(run))


def _licence(code: Code, comments: Sequence[int]) -> Iterator[int]:
    """Yield the lines of comments from the first to the last paragraph about a licence."""
    if any(_BEGINS_LICENCE.search(code.lines[n]) for n in comments):
        has_text = groupby(comments, key=lambda n: any(map(str.isalnum, code.lines[n])))
        paragraphs = [list(lines) for is_text, lines in has_text if is_text]
        about = [p for p in paragraphs if any(_IN_LICENCE.search(code.lines[n]) for n in p)]
        yield from range(about[0][0], about[-1][-1] + 1)


def data(lines: Sequence[str]) -> Iterator[int]:
    """Yield the lines that are very long, and those of long tables of numbers without the first ones."""
    yield from (n for n, line in enumerate(lines) if len(line) > _LONGEST_LINE)
    for is_numbers, run in groupby(range(len(lines)), key=lambda n: bool(_NUMBERS.fullmatch(lines[n]))):
        if is_numbers:
            yield from list(run)[_SEARCHED_DATA_LINES:]

"""Plain text: paragraphs and underlined headings; anything laid out with blanks or drawn lines is code."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from ingest.builder import DocumentBuilder, ParsedDocument
from ingest.source import Source

_RULE = re.compile(r"={3,}|-{3,}")
_ITEM = re.compile(r"([-*+•]|\d{1,3}[.)])\s")
_GAP = re.compile(r"[^\s.!?:] {2,}(?=\S)")
"""Several blanks between two words, but not after the end of a sentence."""
_WIDE_GAP = re.compile(r"[^\s.!?:](?: {3,}|\t)(?=\S)")
_DRAWN = re.compile("[\u2500-\u257f]|^\\||\\|$")
_MOST_TITLE_CHARACTERS = 100


def read(source: Source) -> ParsedDocument:
    builder = DocumentBuilder()
    drawn: list[tuple[int, str]] = []
    for block in _blocks(source.text):
        first, title, rest = _heading(block)
        if drawn and (title or not _is_laid_out(rest)):
            _code(builder, drawn)
            drawn = []
        if title:
            builder.heading(1 if "=" in rest[0][1] else 2, title, first)
            rest = rest[1:]
        if rest and _is_laid_out(rest):
            drawn += rest
        elif rest:
            builder.lines([(number, line.strip()) for number, line in rest])
    _code(builder, drawn)
    return builder.build()


def _blocks(text: str) -> Iterator[list[tuple[int, str]]]:
    """Yield runs of lines that are not blank, each line with its number."""
    numbered = enumerate((line.rstrip() for line in text.split("\n")), 1)
    return (list(lines) for has_text, lines in groupby(numbered, key=lambda line: bool(line[1])) if has_text)


def _heading(block: list[tuple[int, str]]) -> tuple[int, str, list[tuple[int, str]]]:
    """Return line and title of the heading at the start of `block`, and the lines from the rule below the title on."""
    overlined = len(block) > 2 and block[0][1] == block[2][1]
    title_at = 1 if overlined and _RULE.fullmatch(block[0][1]) else 0
    number, title = block[title_at]
    is_title = len(block) > title_at + 1 and _RULE.fullmatch(block[title_at + 1][1]) and not _RULE.fullmatch(title)
    if is_title and len(title) <= _MOST_TITLE_CHARACTERS and not (_GAP.search(title) or title[0].isspace()):
        return number, title, block[title_at + 1 :]
    return number, "", block


def _is_laid_out(block: Sequence[tuple[int, str]]) -> bool:
    """Whether the blanks in a block mean something: lines are indented, drawn, or in columns."""
    lines = [line for _, line in block]
    may_hang = _ITEM.match(lines[0])
    if not may_hang and any(line[0].isspace() for line in lines):
        return True
    return any(len(_GAP.findall(line)) > 1 or _WIDE_GAP.search(line) or _DRAWN.search(line) for line in lines)


def _code(builder: DocumentBuilder, block: Sequence[tuple[int, str]]) -> None:
    """Write neighbouring drawings as one block, with the blank lines between them."""
    if block:
        lines, first, last = dict(block), block[0][0], block[-1][0]
        builder.code("\n".join(lines.get(number, "") for number in range(first, last + 1)), first)

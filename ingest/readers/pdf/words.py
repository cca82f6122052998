"""Join the lines of a paragraph or a cell: words and names that the end of a line broke become whole again."""

import re
from collections.abc import Iterable, Set
from typing import NamedTuple

_LAST_WORD, _FIRST_WORD = re.compile(r"(?<![\w.-])([^\W_]+)([-\u2010]?)$"), re.compile(r"[^\W\d_]+(?!\w)")
_LONGEST_WORD = 60
_NAME = re.compile(r"[^\W\d]\w*(?:(?:::|->|[.-])\w+)*")
_LAST_NAME, _FIRST_NAME = re.compile(r"[\w.:-]*[\w.:-]$"), re.compile(r"\w+(?:(?:::|[.-])\w+)*")
_BREAK = re.compile(r"(?<=\w)\u2190-?$")
"""The arrow of Doxygen where it breaks a name."""
_MARKED = re.compile(r"_|\w[.:-]+\w|\d|[a-z][A-Z]")
"""What distinguishes a name of a program from a word."""
_FUNCTION_WORD = re.compile(r"(?:a|an|and|are|as|by|for|from|have|in|is|of|on|or|the|to|were|which|with)$")


class Vocabulary(NamedTuple):
    """Words and names of a document, which decide how its broken lines are joined."""

    words: Set[str]
    """Words in lower case, also parts of broken ones."""
    names: Set[str]
    """Names of programs, also parts of broken ones."""
    whole: Set[str]
    """Words and names that stand where no line breaks, so that none is part of a broken one."""


def vocabulary_of(lines: Iterable[str], cells: Iterable[str]) -> Vocabulary:
    """Collect the words of `lines`, and the names of both `lines` and the lines of `cells`."""
    lines = list(lines)
    words = {word.casefold() for line in lines for word in re.findall(r"[^\W\d_]+", line)}
    names: set[str] = set()
    whole: set[str] = set()
    for text in (*lines, *cells):
        for found in _NAME.finditer(text):
            if _MARKED.search(found[0]):
                names.add(found[0])
            if found.end() < len(text) and (found.start() or not found[0].startswith("_")):
                whole.add(found[0])
    return Vocabulary(words, names, whole)


def joined(texts: Iterable[str], known: Vocabulary) -> str:
    """Join lines to one text.

    A hyphen at the end of a line is dropped only if the joined word is one of the words. A word broken without a hyphen
    is joined only if, moreover, its first part is not one of them.
    """
    text = ""
    for line in texts:
        head = _LAST_WORD.search(text[-_LONGEST_WORD:])
        tail = _FIRST_WORD.match(line)
        if _BREAK.search(text):
            text = _BREAK.sub("", text) + line
        elif _is_broken_name(text[-_LONGEST_WORD:], line, known):
            text += line
        elif not head or not tail:
            text += " " * bool(text) + line
        elif (head[1] + tail[0]).casefold() in known.words and (head[2] or head[1].casefold() not in known.words):
            text = text.removesuffix(head[2]) + line
        else:
            text += ("" if head[2] else " ") + line
    return text


def _is_broken_name(text: str, line: str, known: Vocabulary) -> bool:
    """Whether a name begins at the end of `text` and ends at the start of `line`.

    An underscore or a further hyphen at the break says so; elsewhere, the document must show the joined name.
    """
    last, first = _LAST_NAME.search(text), _FIRST_NAME.match(line)
    if not last or not first or last[0] in known.whole:
        return False
    head, tail = last[0].lstrip("-"), first[0]
    if head + tail in known.names:
        return True
    if head.endswith("_"):
        return not head.startswith("_") and not _FUNCTION_WORD.match(tail)
    if tail.startswith("_"):
        return bool(_MARKED.search(head)) and head[-1].isalnum() and tail[1:2].isalpha() and tail not in known.whole
    return head.endswith("-") and "-" in last[0][:-1] and tail[0].isalnum()

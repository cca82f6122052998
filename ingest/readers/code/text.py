"""The text of a code file: which of it is comment, and which lines stand above a definition."""

import ast
import re
import warnings
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from ingest.readers.languages import Language

_MOST_PARSED = 2_000_000
"""Longest Python, in characters, that is parsed to a tree, which takes a hundred times its size in memory."""
_ATTRIBUTE = re.compile(r"\s*(?:@|#!?\[|\[\[|template\b)")


@dataclass(slots=True)
class Definition:
    name: str
    first: int
    """Its first line, with the comments and attributes above it; lines count from 0."""
    header: int
    """The line that names it."""
    end: int
    """The line after its last."""
    inner: list["Definition"] = field(default_factory=list)


class Code:
    """The text of a code file, and its lines with comments, or with comments and strings, left blank."""

    def __init__(self, text: str, language: Language) -> None:
        self.text = text
        self.language = language
        self.lines = text.split("\n")
        pattern = re.compile(f"(?P<comment>{language.comments})|{language.strings}", re.DOTALL | re.MULTILINE)
        self.bare = pattern.sub(lambda found: blank(found[0]), text)
        self.bare_lines = self.bare.split("\n")
        self._uncommented = pattern.sub(lambda m: blank(m[0]) if m["comment"] else m[0], text).split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self.lines)]

    def line_of(self, at: int) -> int:
        return bisect_right(self._starts, at) - 1

    def says_nothing(self, line: int) -> bool:
        """Whether a compiler sees only blanks."""
        return not self._uncommented[line].strip()

    def above(self, line: int) -> int:
        """Return the first of the comments and attributes that stand directly above `line`."""
        while (
            line
            and (above := self.lines[line - 1]).strip()
            and (self.says_nothing(line - 1) or _ATTRIBUTE.match(above))
        ):
            line -= 1
        return line

    @cached_property
    def tree(self) -> ast.Module | None:
        """The parsed text; None if it is not valid Python 3."""
        if self.language.name != "python" or len(self.text) > _MOST_PARSED:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # strings with invalid escapes
            try:
                return ast.parse(self.text)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return None

    @property
    def docstring(self) -> range:
        """Lines of the string with which Python describes a file."""
        if self.tree is None or not self.tree.body or not isinstance(node := self.tree.body[0], ast.Expr):
            return range(0)
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return range(node.lineno - 1, node.end_lineno or node.lineno) if is_text else range(0)


def blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)

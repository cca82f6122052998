"""Read source code: each definition becomes a section, which includes its comments.

The description at the beginning of the file becomes text.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from ingest.builder import CHUNK_CHARACTERS, DocumentBuilder, ParsedDocument
from ingest.licences import licences_in
from ingest.readers.code.apart import boilerplate, data
from ingest.readers.code.outline import outline
from ingest.readers.code.text import Code, Definition
from ingest.readers.languages import LANGUAGES
from ingest.source import Source

_FEWEST_LINES = 3
"""A shorter definition stays with the code around it: a passage of its own would say too little."""
_LONGEST_SUMMARY = 80
_MARKS = re.compile(
    r"^\s*(?:/[/*]+[!<]?|\*+/?|#+!?|;+|%+|!+|--+|[rRbBuU]{0,2}(?:\"{3}|'{3}))|-\*-.*?-\*-|(?:\*+/|\"{3}|'{3})\s*$"
)
_DRAWN = re.compile(r"^[\s=*~#/<>+-]{3,}|[\s=*~#/<>+-]{3,}$")
_ONLY_AROUND = re.compile(
    r"\W*|\s*(?:namespace\b|extern\b.*\{|#\s*(?:if|el|endif)|(?:public|private|protected|end)\b).*"
)
"""A line that says nothing without the definitions below or above it."""


def read(source: Source) -> ParsedDocument:
    suffix = next(end for end in LANGUAGES if source.path.name.lower().endswith(end))
    return _Reader(Code(source.text, LANGUAGES[suffix]), source.path.name).read()


class _Reader:
    def __init__(self, code: Code, name: str) -> None:
        self._code = code
        self._lines = [line.rstrip() for line in code.lines]
        self._out = DocumentBuilder(metadata={"title": name})
        self._boilerplate = set(boilerplate(code))
        self._data = set(data(self._lines)) - self._boilerplate
        self._apart = self._boilerplate | self._data

    def read(self) -> ParsedDocument:
        definitions = outline(self._code)
        first = min([d.first for d in definitions], default=len(self._lines))
        self._body(definitions, self._description(first), len(self._lines))
        for number in sorted(self._apart):
            self._out.furniture(self._lines[number], number + 1)
        if licences := licences_in("\n".join(self._lines[n] for n in sorted(self._boilerplate))):
            self._out.metadata["licence"] = ", ".join(licences)
        if self._data:
            reason = f"{len(self._data):,} lines of numbers, or very long ones, are kept but not searched"
            self._out.warnings.append(f"line {min(self._data) + 1}: {reason}")
        return self._out.build()

    def _description(self, limit: int) -> int:
        """Write what the file says of itself above its code, and return the line on which the code begins."""
        at = 0
        said: list[tuple[int, str]] = []
        while at < limit and (at in self._code.docstring or at in self._apart or self._code.says_nothing(at)):
            text = "" if at in self._apart else _MARKS.sub("", self._lines[at])
            said.append((at + 1, _DRAWN.sub("", text).strip()))
            at += 1
        for has_text, paragraph in groupby(said, key=lambda line: bool(line[1])):
            if has_text:
                self._out.lines(list(paragraph))
        name = self._out.metadata["title"]
        summaries = (text.removeprefix(name).strip(" -:.") for _, text in said)
        if summary := next(filter(None, summaries), ""):
            self._out.metadata["title"] = f"{name}: {summary[:_LONGEST_SUMMARY]}"
        return at

    def _body(self, definitions: Sequence[Definition], begin: int, end: int) -> None:
        """Write the lines from `begin` to `end`, with a section for each of `definitions`, which stand in them."""
        for definition, first, last in self._spans(definitions, begin, end):
            if definition is None:
                self._write(first, last)
                continue
            with self._out.labelled(definition.name, definition.header + 1):
                if sum(map(len, self._lines[first:last])) > CHUNK_CHARACTERS:
                    self._body(definition.inner, first, last)
                else:
                    self._write(first, last)

    def _spans(
        self, definitions: Sequence[Definition], at: int, end: int
    ) -> Iterator[tuple[Definition | None, int, int]]:
        """Yield the definitions and the code between them, each with its first line and the line after its last."""
        shown = [d for d in definitions if d.end - d.first >= _FEWEST_LINES]
        for definition in shown:
            if self._says_something(at, definition.first):
                yield None, at, definition.first
                at = definition.first
            last = definition.end
            if definition is shown[-1] and not self._says_something(last, end):
                last = end
            if at < last:
                yield definition, at, last
                at = last
        yield None, at, end

    def _says_something(self, begin: int, end: int) -> bool:
        return any(not _ONLY_AROUND.fullmatch(line) for line in self._code.bare_lines[begin:end])

    def _write(self, begin: int, end: int) -> None:
        for is_apart, numbers in groupby(range(begin, end), key=lambda number: number in self._apart):
            if not is_apart:
                run = list(numbers)
                code = "\n".join(self._lines[n] for n in run)
                self._out.code(code, run[0] + 1, language=self._code.language.name, has_fence=False)

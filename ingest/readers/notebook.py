"""Jupyter notebooks: the cells as Markdown, code and the text of outputs in fences."""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ingest.builder import ParsedDocument
from ingest.readers.markdown import reader as markdown
from ingest.source import Source
from kb.errors import DocumentError

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FENCE = re.compile(r"`{3,}")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
"""In JSON that was found valid, where a quotation mark stands nowhere else."""
_FORMS = ("text/plain", "text/markdown", "text/html", "text/latex")
"""Of an output that comes in several, the first is kept."""
_VERBATIM = ("text/plain", "text/latex")


def read(source: Source) -> ParsedDocument:
    try:
        value = json.loads(source.text, strict=False, object_pairs_hook=_Members)
    except json.JSONDecodeError as error:
        raise DocumentError(f"{source.path} is no JSON: {error}", hint="save the notebook again") from error
    notebook = _placed(value, (found.start() for found in _STRING.finditer(source.text)))
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise DocumentError(f"{source.path} has no cells", hint="save it as a notebook of format 4")
    page = _Page(source.text)
    language = _language(notebook.get("metadata"))
    for cell in _objects(notebook["cells"]):
        if cell.get("cell_type") == "markdown":
            page.add(cell.get("source"))
        else:
            page.fence(cell.get("source"), language if cell.get("cell_type") == "code" else "")
        for output in _objects(cell.get("outputs")):
            _add_output(page, output)
    document = markdown.read(Source(source.path, source.root, "\n".join(page.lines).encode(errors="replace")))
    numbers = page.numbers or [1]
    return replace(document, lines=tuple(numbers[line - 1] for line in document.lines))


def _add_output(page: "_Page", output: dict[str, Any]) -> None:
    page.fence(output.get("text"))
    page.fence(output.get("traceback"))
    for data in _objects([output.get("data")]):
        if any(form.startswith("image/") for form in data):
            page.extend([(0, "[figure]"), (0, "")])
        form = next((form for form in _FORMS if form in data), "")
        (page.fence if form in _VERBATIM else page.add)(data.get(form))


class _Text(str):
    """A string that knows where in the file it stands."""

    at = 0


class _Members(list[tuple[str, object]]):
    """An object of JSON with all its members, those of one name too, in the order of the file."""


def _placed(value: object, places: Iterator[int]) -> object:
    """`value`, whose strings begin at these places, one after the other."""
    if isinstance(value, str):
        text = _Text(value)
        text.at = next(places)
        return text
    if isinstance(value, _Members):
        return {_placed(name, places): _placed(member, places) for name, member in value}
    return [_placed(one, places) for one in value] if isinstance(value, list) else value


class _Page:
    """Lines of Markdown, each with its line in the notebook's file."""

    def __init__(self, file: str) -> None:
        self.lines: list[str] = []
        self.numbers: list[int] = []
        self._breaks = [found.start() for found in re.finditer("\n", file)]

    def add(self, source: object) -> None:
        self.extend([*self._numbered(source), (0, "")])

    def fence(self, source: object, language: str = "") -> None:
        if lines := self._numbered(source):
            runs = (len(run) for _, line in lines for run in _FENCE.findall(line))
            fence = "`" * (1 + max(runs, default=2))
            self.extend([(lines[0][0], fence + language), *lines, (0, fence), (0, "")])

    def _numbered(self, source: object) -> list[tuple[int, str]]:
        """The lines of a string, or of a list of strings that are lines."""
        parts = [part for part in (source if isinstance(source, list) else [source]) if isinstance(part, _Text)]
        return [
            (1 + bisect_right(self._breaks, part.at), _COLOUR.sub("", line))
            for part in parts
            for line in part.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
        ]

    def extend(self, lines: list[tuple[int, str]]) -> None:
        """What is ours and not the file's stands where the line before it does."""
        for number, line in lines:
            self.lines.append(line)
            self.numbers.append(number or (self.numbers[-1] if self.numbers else 1))


def _language(metadata: object) -> str:
    for name, key in (("language_info", "name"), ("kernelspec", "language")):
        about = metadata.get(name) if isinstance(metadata, dict) else None
        language = about.get(key) if isinstance(about, dict) else None
        if isinstance(language, str) and re.fullmatch(r"[\w+#.-]+", language):
            return language
    return ""


def _objects(values: object) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []

"""Includes, resolved as text before a document is parsed; only files inside the root are read."""

import os
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from ingest.builder import ParsedDocument
from ingest.source import Source
from kb.errors import DocumentError

_NAMES = "(include|literalinclude|csv-table)"
_RST = re.compile(rf"^((?:[ \t]|[-*+][ \t]|\d+\.[ \t])*)\.\. {_NAMES}::[ \t]*(\S.*)?$")
_MYST = re.compile(rf"^([ \t]*)(`{{3,}}|~{{3,}}|:{{3,}})\{{{_NAMES}\}}[ \t]*(\S.*)?$")
_OPTION = re.compile(r"^[ \t]*:([\w-]+):[ \t]*(.*)$")
_LINE_ENDS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""Python and docutils treat these as line ends, editors do not."""

MAX_DEPTH = 8
MAX_CHARACTERS = 3_000_000
"""Limit for all text that one document includes, repeats counted: docutils reads some 200,000 a second."""


class IncludeError(Exception):
    """The reason why a file is not included."""


@dataclass(slots=True)
class Expanded:
    """Lines of a file with its includes in place; an included line has the number of its include directive."""

    root: Path
    """Resolved folder; no file outside it is read."""
    most_characters: int
    """Limit for all included text, repeats counted."""
    lines: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    """Files that are included, or would be if they existed."""
    warnings: list[str] = field(default_factory=list)
    characters: int = 0

    def add(self, number: int, *lines: str) -> None:
        """Add lines that all have one number."""
        self.lines += lines
        self.numbers += [number] * len(lines)

    def take(self, candidates: Iterable[Path], above: Sequence[Path]) -> tuple[Path, str]:
        """Return the first of `candidates` that is a file, and its text; `above` are the files that include it.

        Raises:
            IncludeError: there is none inside the root, or it may not be included, or it is not text.
        """
        inside = [c for c in (Path(os.path.realpath(c)) for c in candidates) if c.is_relative_to(self.root)]
        found = next((c for c in inside if os.path.isfile(c)), None)  # noqa: PTH113 (a name may be too long)
        if found is None:
            self.files += map(str, inside)
            raise IncludeError("is not a file inside the ingested folder")
        if found in [path.resolve() for path in above]:
            raise IncludeError("includes itself")
        if len(above) > MAX_DEPTH or self.characters > self.most_characters:
            raise IncludeError("exceeds the limit of includes")
        self.files.append(str(found))
        try:
            return found, Source(found, self.root, found.read_bytes()).text
        except (DocumentError, OSError) as error:
            raise IncludeError(f"cannot be read: {error}") from error

    def number(self, line: int) -> int:
        """Return the line in the file for a line of the expanded text."""
        return self.numbers[min(max(1, line), len(self.numbers)) - 1]

    def cite(self, document: ParsedDocument) -> ParsedDocument:
        """Return `document`, which was parsed from these lines, with the line numbers of the file."""
        return replace(document, lines=tuple(map(self.number, document.lines)), includes=tuple(self.files))


class _Directive(NamedTuple):
    lead: str
    """Text before the directive on its line."""
    name: str
    argument: str
    options: dict[str, str]
    end: int
    """Index of the line after the directive."""

    @property
    def file(self) -> str:
        """Name of the included file; empty for a file that ships with docutils (`<name>`)."""
        name = self.options.get("file", "") if self.name == "csv-table" else self.argument
        return "" if name.startswith("<") else name


class Syntax(NamedTuple):
    find: Callable[[Sequence[str], int], _Directive | None]
    write: Callable[[str, str, dict[str, str], list[str]], list[str]]
    """Return the lines of a directive with this name, argument, options and content."""


def expand(source: Source, syntax: Syntax) -> Expanded:
    out = Expanded(source.root.resolve(), MAX_CHARACTERS)
    _expand(source.text, (source.path,), "", None, syntax, out)
    return out


def _expand(text: str, files: tuple[Path, ...], lead: str, number: int | None, syntax: Syntax, out: Expanded) -> None:
    """Add the lines of `text`, read from the last of `files`; `lead` begins the first line and indents the others."""
    lines = _LINE_ENDS.sub(" ", text).split("\n")
    at = 0
    while at < len(lines):
        indent = lead if at == 0 else _blank(lead)
        own = number or at + 1
        directive = syntax.find(lines, at)
        if directive is None or not directive.file:
            out.add(own, (indent + lines[at]).rstrip())
            at += 1
            continue
        at = directive.end
        indent += directive.lead
        try:
            included, content = out.take(_candidates(directive.file, files[-1], out.root), files)
        except IncludeError as reason:
            out.warnings.append(f"line {own}: {directive.name} of {directive.file}: {reason}")
            continue
        content = _part(content, directive.options)
        out.characters += len(content)
        if directive.name == "include" and not {"literal", "code"} & directive.options.keys():
            _expand(content, (*files, included), indent, own, syntax, out)
            continue
        for i, line in enumerate(_written(directive, included, content, syntax)):
            out.add(own, ((_blank(indent) if i else indent) + line).rstrip())


def _written(directive: _Directive, included: Path, content: str, syntax: Syntax) -> list[str]:
    lines = content.strip("\n").split("\n")
    if directive.name == "csv-table":
        options = {name: value for name, value in directive.options.items() if name != "file"}
        return syntax.write("csv-table", directive.argument, options, lines)
    language = directive.options.get("language", directive.options.get("code", ""))
    return syntax.write("code-block", language or included.suffix.lstrip("."), {}, lines)


def _find_rst(lines: Sequence[str], at: int) -> _Directive | None:
    if (match := _RST.match(lines[at])) is None:
        return None
    options, end = _options(lines, at + 1)
    return _Directive(match[1], match[2], (match[3] or "").strip(), options, end)


def _write_rst(name: str, argument: str, options: dict[str, str], content: list[str]) -> list[str]:
    inside = [*(f":{option}: {value}" for option, value in options.items()), "", *content]
    return [f".. {name}:: {argument}", *("   " + line for line in inside), ""]


def _find_myst(lines: Sequence[str], at: int) -> _Directive | None:
    if (match := _MYST.match(lines[at])) is None:
        return None
    options, end = _options(lines, at + 1)
    while end < len(lines) and not (closing := lines[end].strip()).startswith(match[2]):
        end += 1
    if end == len(lines) or closing.strip(match[2][0]):
        return None
    return _Directive(match[1], match[3], (match[4] or "").strip(), options, end + 1)


def _write_myst(name: str, argument: str, options: dict[str, str], content: list[str]) -> list[str]:
    fence = "`" * (1 + max([2, *(len(run) for line in content for run in re.findall("`+", line))]))
    return [
        f"{fence}{{{name}}} {argument}",
        *(f":{option}: {value}" for option, value in options.items()),
        "",
        *content,
        fence,
    ]


RST = Syntax(_find_rst, _write_rst)
MYST = Syntax(_find_myst, _write_myst)


def _options(lines: Sequence[str], at: int) -> tuple[dict[str, str], int]:
    options = {}
    while at < len(lines) and (option := _OPTION.match(lines[at])):
        options[option[1]] = option[2].strip()
        at += 1
    return options, at


def _blank(lead: str) -> str:
    return re.sub(r"\S", " ", lead)


def _candidates(name: str, path: Path, root: Path) -> Sequence[Path]:
    """Return possible places of a file: beside `path`; for `/name`, each folder between `root` and `path`."""
    if not name.startswith("/"):
        return [path.parent / name]
    return [d / name.lstrip("/") for d in reversed(path.resolve().parents) if d.is_relative_to(root)]


def _part(content: str, options: dict[str, str]) -> str:
    """Return the part of `content` that the options of an include select."""
    lines = content.split("\n")
    if "start-line" in options or "end-line" in options:
        start, end = (_number(options.get(key, "")) for key in ("start-line", "end-line"))
        lines = lines[start:end]
    if "lines" in options:
        lines = [line for part in options["lines"].split(",") for line in _range(lines, part)]
    content = "\n".join(lines)
    for name, keep_marker in (("start-after", False), ("start-at", True)):
        if (marker := options.get(name)) and (found := content.find(marker)) >= 0:
            content = content[content.rfind("\n", 0, found) + 1 :] if keep_marker else content[found + len(marker) :]
    for name, keep_marker in (("end-before", False), ("end-at", True)):
        if (marker := options.get(name)) and (found := content.find(marker)) >= 0:
            content = content[: f"{content}\n".find("\n", found)] if keep_marker else content[:found]
    return textwrap.dedent(content) if "dedent" in options else content


def _range(lines: list[str], part: str) -> list[str]:
    """Return the lines of a range such as `3`, `3-5`, `3-` or `-5`, counted from 1."""
    first, dash, last = (piece.strip() for piece in part.partition("-"))
    start = _number(first) or 1
    return lines[max(0, start - 1) : (_number(last) if dash else start)]


def _number(digits: str) -> int | None:
    return int(digits) if re.fullmatch(r"-?\d{1,9}", digits) else None

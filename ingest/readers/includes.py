"""Includes, resolved as text before a document is parsed; only files inside the root are read."""

import os
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from ingest.builder import ParsedDocument
from ingest.readers.languages import LANGUAGES
from ingest.source import Source
from kb.errors import DocumentError

_NAMES = "(include|literalinclude|csv-table)"
_RST = re.compile(rf"^((?:[ \t]|[-*+][ \t]|\d+\.[ \t])*)\.\. {_NAMES}::[ \t]*(\S.*)?$")
_MYST = re.compile(rf"^([ \t]*)(`{{3,}}|~{{3,}}|:{{3,}})\{{{_NAMES}\}}[ \t]*(\S.*)?$")
_OPTION = re.compile(r"^[ \t]*:([\w-]+):[ \t]*(.*)$")
_PARTIAL = {"anchor", "lines", "pyobject"} | {
    f"{edge}-{at}" for edge in ("start", "end") for at in ("line", "after", "before", "at")
}
_ANCHOR = re.compile(
    r"\bANCHOR: *(?P<begin>[\w-]+)|\bANCHOR_END: *(?P<end>[\w-]+)"
    r"|(?<!-)-+8<-+ *\[ *(?:start: *(?P<start>[\w-]+)|end: *(?P<stop>[\w-]+)) *\]"
)
"""Comments of mdBook and of MkDocs around a part of a file."""
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
    documents: frozenset[str]
    """See Source."""
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

    def refers_to(self, included: Path, content: str, definitions: re.Pattern[str]) -> bool:
        """Whether `included` is a document of its own: then its text is no part of this one.

        A file that holds only `definitions` is part of each document that includes it, since they need it.
        """
        is_document = str(included) in self.documents
        return is_document and any(line.strip() and not definitions.match(line) for line in content.split("\n"))

    def number(self, line: int) -> int:
        """Return the line in the file for a line of the expanded text."""
        return self.numbers[min(max(1, line), len(self.numbers)) - 1]

    def cite(self, document: ParsedDocument) -> ParsedDocument:
        """Return `document`, which was parsed from these lines, with the line numbers of the file."""
        return replace(document, lines=tuple(map(self.number, document.lines)), includes=tuple(self.files))


class Directive(NamedTuple):
    lead: str
    """Text before the directive on its line."""
    name: str
    argument: str
    options: dict[str, str]
    end: int
    """Index of the line after the directive."""
    shown: str = ""
    """What a program that replaces text, before anything is parsed, leaves if it cannot include the file."""

    @property
    def file(self) -> str:
        """Name of the included file; empty for a file that ships with docutils (`<name>`)."""
        name = self.options.get("file", "") if self.name == "csv-table" else self.argument
        return "" if name.startswith("<") else name

    @property
    def is_whole(self) -> bool:
        """Whether the directive adds nothing to the file and leaves nothing out."""
        return self.name != "csv-table" and not _PARTIAL & self.options.keys()


class Syntax(NamedTuple):
    definitions: re.Pattern[str]
    """Matches lines that say nothing by themselves: of substitutions, link targets and comments."""
    reference: str
    """Text that refers to the file `{}`, whose text is not part of the document."""
    find: Callable[[Sequence[str], int], Directive | None]
    write: Callable[[str, str, dict[str, str], list[str]], list[str]]
    """Return the lines of a directive with this name, argument, options and content."""
    prepare: Callable[[str], str] = str
    """Rewrite a text, line by line, so that each include stands on one line."""


def expand(source: Source, syntax: Syntax) -> Expanded:
    out = Expanded(source.root.resolve(), MAX_CHARACTERS, source.documents)
    _expand(source.text, (source.path,), "", None, syntax, out)
    return out


def _expand(text: str, files: tuple[Path, ...], lead: str, number: int | None, syntax: Syntax, out: Expanded) -> None:
    """Add the lines of `text`, read from the last of `files`; `lead` begins the first line and indents the others."""
    lines = _LINE_ENDS.sub(" ", syntax.prepare(text)).split("\n")
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
        try:
            _include(directive, files, indent + directive.lead, own, syntax, out)
        except IncludeError as reason:
            out.warnings.append(f"line {own}: {directive.name} of {directive.file}: {reason}")
            if directive.shown:
                out.add(own, indent + directive.shown)


def _include(
    directive: Directive, files: tuple[Path, ...], indent: str, own: int, syntax: Syntax, out: Expanded
) -> None:
    included, content = out.take(_candidates(directive, files[-1], out.root), files)
    if directive.is_whole and out.refers_to(included, content, syntax.definitions):
        out.add(own, indent + syntax.reference.format(directive.file))
        return
    content = _part(content, directive.options)
    out.characters += len(content)
    if directive.name == "include" and not {"literal", "code"} & directive.options.keys():
        if directive.shown and included.suffix.lower() in LANGUAGES:
            out.add(own, indent + directive.shown.strip())  # names the file of a listing
        _expand(content.removesuffix("\n"), (*files, included), indent, own, syntax, out)
        return
    for i, line in enumerate(_written(directive, included, content, syntax)):
        out.add(own, ((_blank(indent) if i else indent) + line).rstrip())


def _written(directive: Directive, included: Path, content: str, syntax: Syntax) -> list[str]:
    lines = content.strip("\n").split("\n")
    if directive.name == "csv-table":
        options = {name: value for name, value in directive.options.items() if name != "file"}
        return syntax.write("csv-table", directive.argument, options, lines)
    language = directive.options.get("language", directive.options.get("code", ""))
    code = syntax.write("code-block", language or included.suffix.lstrip("."), {}, lines)
    return [syntax.reference.format(directive.file), "", *code]


def _find_rst(lines: Sequence[str], at: int) -> Directive | None:
    if (match := _RST.match(lines[at])) is None:
        return None
    options, end = _options(lines, at + 1)
    return Directive(match[1], match[2], (match[3] or "").strip(), options, end)


def _write_rst(name: str, argument: str, options: dict[str, str], content: list[str]) -> list[str]:
    inside = [*(f":{option}: {value}" for option, value in options.items()), "", *content]
    return [f".. {name}:: {argument}", *("   " + line for line in inside), ""]


def _find_myst(lines: Sequence[str], at: int) -> Directive | None:
    if (match := _MYST.match(lines[at])) is None:
        return None
    options, end = _options(lines, at + 1)
    while end < len(lines) and not (closing := lines[end].strip()).startswith(match[2]):
        end += 1
    if end == len(lines) or closing.strip(match[2][0]):
        return None
    return Directive(match[1], match[3], (match[4] or "").strip(), options, end + 1)


def _write_myst(name: str, argument: str, options: dict[str, str], content: list[str]) -> list[str]:
    fence = "`" * (1 + max([2, *(len(run) for line in content for run in re.findall("`+", line))]))
    given = (f":{option}: {value}" for option, value in options.items())
    return [f"{fence}{{{name}}} {argument}", *given, "", *content, fence]


RST = Syntax(re.compile(r"\s|\.\.$|\.\. (?:[_|]|\S+\s*$)"), "See ``{}``.", _find_rst, _write_rst)
MYST = Syntax(re.compile(r"\s|\[[^\]]+\]:|<!--"), "See `{}`.", _find_myst, _write_myst)


def _options(lines: Sequence[str], at: int) -> tuple[dict[str, str], int]:
    options = {}
    while at < len(lines) and (option := _OPTION.match(lines[at])):
        options[option[1]] = option[2].strip()
        at += 1
    return options, at


def _blank(lead: str) -> str:
    return re.sub(r"\S", " ", lead)


def _candidates(directive: Directive, path: Path, root: Path) -> Sequence[Path]:
    """Return possible places of a file: beside `path`; for `/name`, each folder between `root` and `path`.

    MkDocs is told in its configuration where to look, so its files may be in all of these.
    """
    name = directive.file
    beside = [] if name.startswith("/") else [path.parent / name]
    if beside and not directive.shown:
        return beside
    return [*beside, *(d / name.lstrip("/") for d in reversed(path.resolve().parents) if d.is_relative_to(root))]


def _part(content: str, options: dict[str, str]) -> str:
    lines = content.split("\n")
    if "anchor" in options:
        lines = _between_anchors(lines, options["anchor"])
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


def _between_anchors(lines: list[str], name: str) -> list[str]:
    """Return the lines between the comments that begin and end the part `name`, without the comments of other parts.

    Raises:
        IncludeError: no comment begins it.
    """
    marks = [_ANCHOR.search(line) for line in lines]
    first = next((at for at, mark in enumerate(marks) if mark and (mark["begin"] or mark["start"]) == name), None)
    if first is None:
        raise IncludeError(f"has no part {name!r}")
    ends = (at for at, mark in enumerate(marks) if mark and at > first and (mark["end"] or mark["stop"]) == name)
    return [line for line, mark in zip(lines[first : next(ends, None)], marks[first:], strict=False) if not mark]


def _range(lines: list[str], part: str) -> list[str]:
    """Return the lines of a range such as `3`, `3-5`, `3-` or `-5`, counted from 1."""
    first, dash, last = (piece.strip() for piece in part.partition("-"))
    start = _number(first) or 1
    return lines[max(0, start - 1) : (_number(last) if dash else start)]


def _number(digits: str) -> int | None:
    return int(digits) if re.fullmatch(r"-?\d{1,9}", digits) else None

"""Files that a document takes in, resolved as text before it is parsed and inside the root only."""

import os
import re
import textwrap
from collections.abc import Callable, Sequence
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
"""Which Python and docutils take for ends of lines, and editors do not."""

MAX_DEPTH = 8
MAX_CHARACTERS = 3_000_000
"""Of all that one document takes in, however often: docutils reads some 200,000 a second."""


@dataclass(slots=True)
class Expanded:
    """Lines of a file with its includes in place; an included line has the number of the line that includes it."""

    root: Path
    syntax: "Syntax"
    lines: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    """Included, or would be if they were there."""
    warnings: list[str] = field(default_factory=list)
    characters: int = 0

    def number(self, line: int) -> int:
        """Line in the file of a line of the text with its includes in place."""
        return self.numbers[min(max(1, line), len(self.numbers)) - 1]

    def cite(self, document: ParsedDocument) -> ParsedDocument:
        """`document`, made of these lines, with lines of the file."""
        return replace(document, lines=tuple(map(self.number, document.lines)), includes=tuple(self.files))


class _Directive(NamedTuple):
    lead: str
    """What stands before it on its line."""
    name: str
    argument: str
    options: dict[str, str]
    end: int
    """The line after it."""


class Syntax(NamedTuple):
    find: Callable[[Sequence[str], int], _Directive | None]
    write: Callable[[str, str, dict[str, str], list[str]], list[str]]
    """Lines of a directive: its name, argument, options and content."""


def expand(source: Source, syntax: Syntax) -> Expanded:
    out = Expanded(source.root.resolve(), syntax)
    _expand(source.text, source.path, "", None, (source.path.resolve(),), out)
    return out


def _expand(text: str, path: Path, lead: str, number: int | None, above: tuple[Path, ...], out: Expanded) -> None:
    """Add the lines of `text`; `lead` stands before the first and indents the others."""
    lines = _LINE_ENDS.sub(" ", text).split("\n")
    at = 0
    while at < len(lines):
        indent = lead if at == 0 else _blank(lead)
        own = number or at + 1
        directive = out.syntax.find(lines, at)
        taken = directive and _take(directive, path, own, above, out)
        if directive is None or taken is None:
            out.lines.append((indent + lines[at]).rstrip())
            out.numbers.append(own)
            at += 1
            continue
        at = directive.end
        included, content = taken
        if directive.name == "include" and not {"literal", "code"} & directive.options.keys():
            if included:
                _expand(content, included, indent + directive.lead, own, (*above, included), out)
            continue
        written = _written(directive, included, content, out.syntax) if included else []
        first, rest = indent + directive.lead, _blank(indent + directive.lead)
        out.lines += [((rest if i else first) + line).rstrip() for i, line in enumerate(written)]
        out.numbers += [own] * len(written)


def _take(
    directive: _Directive, path: Path, own: int, above: tuple[Path, ...], out: Expanded
) -> tuple[Path | None, str] | None:
    """The file that `directive` names, none if it may not be read, and what of it is wanted."""
    is_csv = directive.name == "csv-table"
    name = directive.options.get("file", "") if is_csv else directive.argument
    if not name or name.startswith("<"):
        return None
    candidates = _candidates(name, path, out.root)
    included = next((c for c in candidates if os.path.isfile(c)), None)  # noqa: PTH113 (a name may be too long)
    content = reason = ""
    if included is None:
        reason = "is not a file inside the ingested folder"
        out.files += map(str, candidates)
    elif included in above:
        reason = "includes itself"
    elif len(above) > MAX_DEPTH or out.characters > MAX_CHARACTERS:
        reason = "is one include too many"
    else:
        out.files.append(str(included))
        try:
            content = _part(Source(included, out.root, included.read_bytes()).text, directive.options)
        except (DocumentError, OSError) as error:
            reason = f"can not be read: {error}"
        out.characters += len(content)
    if reason:
        out.warnings.append(f"line {own}: {directive.name} of {name}: {reason}")
        included = None
    return included, content


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


def _candidates(name: str, path: Path, root: Path) -> list[Path]:
    """Where the file may lie: beside `path`; `/name` below the source root, some folder between `root` and `path`."""
    if name.startswith("/"):
        folders = [d for d in path.resolve().parents if d.is_relative_to(root)]
        candidates = [d / name.lstrip("/") for d in reversed(folders)]
    else:
        candidates = [path.parent / name]
    resolved = (Path(os.path.realpath(c)) for c in candidates if "\0" not in name)
    return [c for c in resolved if c.is_relative_to(root)]


def _part(content: str, options: dict[str, str]) -> str:
    """What the options of an include leave of `content`."""
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
    """Lines of a range such as `3`, `3-5`, `3-` or `-5`, counted from 1."""
    first, dash, last = (piece.strip() for piece in part.partition("-"))
    start = _number(first) or 1
    return lines[max(0, start - 1) : (_number(last) if dash else start)]


def _number(digits: str) -> int | None:
    return int(digits) if re.fullmatch(r"-?\d{1,9}", digits) else None

"""AsciiDoc's includes and conditionals, resolved as text before parsing; only files inside the root are read."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from ingest.readers.includes import Expanded, IncludeError
from ingest.readers.languages import LANGUAGES
from ingest.source import Source

ATTRIBUTE = re.compile(r":(!?)([A-Za-z0-9_][\w-]*)(!?):(?:[ \t]+(.*))?$")
_DIRECTIVE = re.compile(r"(include|ifdef|ifndef|ifeval|endif)::([^\[]*)\[(.*)\]$")
_TAG = re.compile(r"\b(tag|end)::([\w.-]+)\[\]")
_REFERENCE = re.compile(r"\\?\{([A-Za-z0-9_][\w-]*)\}")
_DEFINITIONS = re.compile(r"//|:!?[\w-]+!?:|(?:ifn?def|ifeval|endif)::")
_PARTIAL = {"lines", "tag", "tags"}
_MARKUP = {".adoc", ".asciidoc", ".asc", ".ad", ".txt"}

MAX_CHARACTERS = 50_000_000
"""Limit for all text that one document includes, repeats counted."""
MAX_VALUE = 500
"""Longest value, in characters, that replaces the name of its attribute: a document must not grow without end."""


class Attributes(dict[str, str]):
    """The attributes that a document has defined so far and not unset."""

    def define(self, line: str) -> tuple[str, str]:
        """Record `line` if it is `:name: value`; return name and value, else empty strings."""
        if (match := ATTRIBUTE.match(line)) is None:
            return "", ""
        name, value = match[2].lower(), self.fill((match[4] or "").strip())
        if match[1] or match[3]:
            self.pop(name, None)
        elif name == "leveloffset" and value[:1] in ("+", "-"):
            self[name] = str(self.level_offset + _offset(value))
        else:
            self[name] = value
        return name, value

    @property
    def level_offset(self) -> int:
        return _offset(self.get("leveloffset", ""))

    def fill(self, text: str) -> str:
        """Return `text` with each `{name}` replaced by its value."""
        return _REFERENCE.sub(self._value, text) if "{" in text else text

    def _value(self, match: re.Match[str]) -> str:
        value = self.get(match[1].lower())
        return match[0] if value is None or match[0][0] == "\\" or len(value) > MAX_VALUE else value


@dataclass(slots=True)
class _Expanded(Expanded):
    attributes: Attributes = field(default_factory=Attributes)


def expand(source: Source) -> Expanded:
    out = _Expanded(source.root.resolve(), MAX_CHARACTERS, source.documents)
    _expand(source.text, (source.path,), None, out)
    return out


def _expand(text: str, files: tuple[Path, ...], number: int | None, out: _Expanded) -> None:
    """Add the lines of `text`, read from the last of `files`."""
    with_alternative = set(re.findall(r"^ifndef::([^\[]*)\[", text, re.MULTILINE))
    kept = [True]
    for own, raw in enumerate(text.split("\n"), 1):
        line, place = raw.expandtabs(4).rstrip(), number or own
        directive = _DIRECTIVE.match(line)
        if directive is None:
            if kept[-1]:
                out.attributes.define(line)
                out.add(place, line.removeprefix("\\") if _DIRECTIVE.match(line[1:]) else line)
            continue
        name, target, content = directive.groups()
        if name == "endif":
            kept = kept[:-1] or [True]
        elif name == "include":
            if kept[-1]:
                _include(out.attributes.fill(target), _options(content), files, place, out)
        else:
            holds = name == "ifeval" or _holds(name, target, out.attributes, with_alternative)
            if name == "ifeval" or not content:
                kept.append(kept[-1] and holds)
            elif kept[-1] and holds:
                out.add(place, content)


def _holds(name: str, target: str, attributes: Attributes, with_alternative: set[str]) -> bool:
    """Whether the text below `ifdef` or `ifndef` is kept; any (`,`) or all (`+`) names of `target` must be defined.

    The attributes of a build are unknown, so an `ifdef` of an undefined name is left out only if the same file also has
    an `ifndef` of it.
    """
    known = [part.strip().lower() in attributes for part in re.split(r"[,+]", target)]
    defined = all(known) if "+" in target else any(known)
    return not defined if name == "ifndef" else defined or target not in with_alternative


def _include(name: str, options: dict[str, str], files: tuple[Path, ...], number: int, out: _Expanded) -> None:
    try:
        included, content = out.take([files[-1].parent / name], files)
    except IncludeError as reason:
        if "optional" not in options.get("opts", ""):
            out.warnings.append(f"line {number}: include of {name}: {reason}")
            out.add(number, f"include::{name}[]")
        return
    if not _PARTIAL & options.keys() and out.refers_to(included, content, _DEFINITIONS):
        out.add(number, f"See `+{name}+`.")
        return
    out.characters += len(content)
    content = _part(content, options)
    if included.suffix.lower() not in _MARKUP:
        if included.suffix.lower() in LANGUAGES:
            out.add(number, f"include::{name}[]")  # names the file of a listing
        out.add(number, *content.rstrip("\n").split("\n"))
        return
    offset = _offset(options.get("leveloffset", ""))
    if offset:
        out.add(number, "", f":leveloffset: {offset:+}", "")
    _expand(content.removesuffix("\n"), (*files, included), number, out)
    if offset:
        out.add(number, "", f":leveloffset: {-offset:+}", "")


def _offset(value: str) -> int:
    return int(value) if re.fullmatch(r"[+-]?\d", value) else 0


def _options(content: str) -> dict[str, str]:
    found = re.findall(r'(\w+)\s*=\s*(?:"([^"]*)"|([^,]*))', content)
    return {name: (quoted or plain).strip() for name, quoted, plain in found}


def _part(content: str, options: dict[str, str]) -> str:
    lines = content.split("\n")
    if wanted := options.get("lines"):
        ranges = [re.fullmatch(r"(\d{1,9})(?:\.\.(-?\d{0,9}))?", part.strip()) for part in re.split("[,;]", wanted)]
        numbers: set[int] = set()
        for match in filter(None, ranges):
            last = int(match[2] or -1) if match[2] is not None else int(match[1])
            numbers.update(range(int(match[1]), 1 + (len(lines) if last < 0 else min(last, len(lines)))))
        lines = [line for number, line in enumerate(lines, 1) if number in numbers]
    if tags := options.get("tags", options.get("tag", "")):
        lines = _tagged(lines, [tag.strip() for tag in re.split("[,;]", tags) if tag.strip()])
    return "\n".join(lines)


def _tagged(lines: list[str], tags: list[str]) -> list[str]:
    """Return lines in the regions of `tags` (`*`: any), not in those with `!`; `**` adds lines outside all regions."""
    wanted = {tag for tag in tags if tag[0] != "!"}
    unwanted = {tag[1:] for tag in tags if tag[0] == "!"}
    kept = []
    inside: list[str] = []
    for line in lines:
        if match := _TAG.search(line):
            if match[1] == "tag":
                inside.append(match[2])
            elif match[2] in inside:
                inside.remove(match[2])
        elif not (unwanted & {*inside, *"*"[: len(inside)]}) and (
            not wanted or wanted & {"**", *inside, *"*"[: len(inside)]}
        ):
            kept.append(line)
    return kept

"""reStructuredText `include` and `literalinclude`, resolved as text before parsing and inside the root only."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

_INCLUDE = re.compile(r"^([ \t]*)\.\. (include|literalinclude)::[ \t]+(\S+)[ \t]*$")
_OPTION = re.compile(r"^[ \t]+:([\w-]+):[ \t]*(.*)$")
MAX_DEPTH = 8


@dataclass(slots=True)
class Expanded:
    """Lines of a file with its includes in place; an included line has the number of the line that includes it."""

    lines: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    """Included, or would be if they were there."""
    warnings: list[str] = field(default_factory=list)


def expand(text: str, *, path: Path, root: Path) -> Expanded:
    out = Expanded()
    _expand(text, path, root.resolve(), "", None, (path.resolve(),), out)
    return out


def _expand(
    text: str, path: Path, root: Path, indent: str, number: int | None, above: tuple[Path, ...], out: Expanded
) -> None:
    lines = text.expandtabs().split("\n")
    at = 0
    while at < len(lines):
        match = _INCLUDE.match(lines[at])
        if match is None:
            out.lines.append((indent + lines[at]).rstrip())
            out.numbers.append(number or at + 1)
            at += 1
            continue
        own = number or at + 1
        own_indent, directive, name = match.groups()
        options: dict[str, str] = {}
        at += 1
        while at < len(lines) and (option := _OPTION.match(lines[at])):
            options[option.group(1)] = option.group(2).strip()
            at += 1
        candidates = _candidates(name, path, root)
        included = next((c for c in candidates if c.is_file()), None)
        if included is None or included in above or len(above) > MAX_DEPTH:
            reason = "includes itself" if included in above else "is not a file inside the ingested folder"
            out.warnings.append(f"line {own}: {directive} of {name}: {reason}")
            if included is None:
                out.files += map(str, candidates)
            continue
        out.files.append(str(included))
        content = _part(included.read_text(encoding="utf-8", errors="replace"), options)
        if directive == "include" and not {"literal", "code"} & options.keys():
            _expand(content, included, root, indent + own_indent, own, (*above, included), out)
        else:
            language = options.get("language", options.get("code", "")) or included.suffix.lstrip(".")
            code = [f".. code-block:: {language}", "", *("    " + line for line in content.split("\n")), ""]
            out.lines += [(indent + own_indent + line).rstrip() for line in code]
            out.numbers += [own] * len(code)


def _candidates(name: str, path: Path, root: Path) -> list[Path]:
    """Where the file may lie: beside `path`; `/name` below the source root, some folder between `root` and `path`."""
    if name.startswith("/"):
        folders = [d for d in path.resolve().parents if d.is_relative_to(root)]
        candidates = [d / name.lstrip("/") for d in reversed(folders)]
    else:
        candidates = [path.parent / name]
    resolved = (Path(os.path.realpath(c)) for c in candidates)
    return [c for c in resolved if c.is_relative_to(root)]


def _part(content: str, options: dict[str, str]) -> str:
    """What `start-after`, `end-before`, `start-line`, `end-line` leave of `content`."""
    if "start-line" in options or "end-line" in options:
        start, end = (
            int(v) if re.fullmatch(r"-?\d+", v := options.get(k, "")) else None for k in ("start-line", "end-line")
        )
        content = "\n".join(content.split("\n")[start:end])
    if (marker := options.get("start-after")) and marker in content:
        content = content.split(marker, 1)[1]
    if (marker := options.get("end-before")) and marker in content:
        content = content.split(marker, 1)[0]
    return content

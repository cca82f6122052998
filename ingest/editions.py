"""Find the edition of a document: what it states itself, else what the files around it state, else its path.

A file's time of change says when somebody copied it, so it is never taken.
"""

import re
from collections.abc import Iterator
from functools import cache, partial
from itertools import chain
from pathlib import Path

from ingest.builder import BlockKind, ParsedDocument, Table
from ingest.source import beginning
from kb.types.edition import Edition, names_edition

HEAD_CHARACTERS = 1500
"""The beginning of a document, where its version and date stand."""
READ_CHARACTERS = 20_000
"""The beginning of a file beside the document; the newest entry of a change log stands first."""

_STATED = re.compile(
    r"^\W*(?:document |doc |last[ _-]?|date[ _-])?"
    r"(version|release|revision|revnumber|date|revdate|lastmod|updated?|modified|issue|published)"
    r"(?: number| date|[ _-]of[ _-](?:issue|release))?\W*(?:[:=|]|(?<= )(?=v?\d))\W*(.{1,60})$",
    re.IGNORECASE | re.MULTILINE,
)
_TITLE = re.compile(
    r"(?<!\w)((?:version|release|revision|rev\.?)[ :]*v?\d[\w.]*|v\d+\.\d[\w.]*|(?:19|20)\d\d-[01]\d(?:-[0-3]\d)?"
    r"|[a-z]{3,9} (?:19|20)\d\d)\W*$",
    re.IGNORECASE,
)
"""A title ends with its own version; elsewhere it names the version of something else."""
_HISTORY = re.compile(
    r"\b(?:revision|version|release|document|change)s?[ -](?:history|log|record)|changelog", re.IGNORECASE
)
_VERSION_COLUMN = re.compile(
    r"(?:document |doc )?(?:version|rev(?:ision|\.)?|release|issue)(?: id| number)?", re.IGNORECASE
)
_DATE_COLUMN = re.compile(r"(?:release |issue |revision )?date|released?(?: on)?", re.IGNORECASE)
_ENTRY = re.compile(r"^(?:[#=*]+ |\[|v?\d|version |release ).*\d", re.IGNORECASE | re.MULTILINE)
_FILES = {
    r"pyproject\.toml|cargo\.toml|book\.toml": r"^\s*version\s*=\s*[\"']([^\"']*\d[^\"']*)",
    r"setup\.py|meson\.build": r"\bversion\s*[=:]\s*[\"']([^\"']*\d[^\"']*)",
    r"package\.json": r"\"version\"\s*:\s*\"([^\"]*\d[^\"]*)",
    r"cmakelists\.txt": r"\bproject\s*\([^)]*\bVERSION\s+(\d[\w.]*)",
    r"conf\.py": r"^(?:release|version)\s*=\s*u?[\"']([^\"']*\d[^\"']*)",
    r"antora\.yml|mkdocs\.yml|_config\.yml": r"^version\s*:\s*[\"']?([^\"'\n]*\d[^\"'\n]*)",
    r"doxyfile(?:\.in)?": r"^PROJECT_NUMBER\s*=\s*\"?([^\"\n]*\d[^\"\n]*)",
    r"version(?:\.txt)?": r"\A\s*(v?\d[^\n]*)",
}
"""Names of package files, and where each states the version."""
_CHANGES = re.compile(r"(?:changelog|changes|history|release[-_]?notes)(?:\.\w+)?", re.IGNORECASE)
_TAIL = re.compile(r"(?:19|20)\d\d-\d\d(?:-\d\d)?$|v?\d+(?:[._](?:\d+|x))*$", re.IGNORECASE)
"""The edition in the name of a file or a folder: `guide-v1.2` is of v1.2."""
_NO_VERSION = re.compile(r"0[.0]*(?:[-.]?dev\d*)?")
"""A version that says nothing: package files have `0.0.0` if the version is set elsewhere."""


def edition_of(document: ParsedDocument, title: str, path: Path, root: Path) -> str:
    """The version and date of a document as text, from the first place that states one; empty if none does."""
    stated = (text for text in _stated(document, title) if Edition.read(text))
    near = (_edition_of_folder(folder) for folder in path.parents if folder.is_relative_to(root))
    return next(filter(None, chain(stated, near)), "") or _edition_of_path(path, root)


def _stated(document: ParsedDocument, title: str) -> Iterator[str]:
    """What the document states: in its metadata, title, first lines and history of versions."""
    furniture = "\n".join(document.text[b.start : b.end] for b in document.blocks if b.kind is BlockKind.FURNITURE)
    lines = _STATED.findall(furniture) + _STATED.findall(document.text[:HEAD_CHARACTERS])
    found = [(name.lower(), value.strip(" \"'|*_`")) for name, value in lines]
    versions = [value for name, value in found if name in ("version", "release", "revision", "revnumber", "issue")]
    dates = [value for name, value in found if Edition.read(value).date and name not in ("version", "revision")]
    version = document.metadata.get("version") or next((v for v in versions if Edition.read(v)), "")
    date = next(map(_date, dates), "")
    yield _dated(version, date)
    if match := _TITLE.search(title):
        yield match[1]
    yield from filter(None, (_newest_row(b.table, document.trail(b.section)) for b in document.blocks if b.table))


def _date(text: str) -> str:
    return Edition.read(text).date


def _dated(version: str, date: str) -> str:
    """One text for both, without saying the date twice."""
    return f"{version} ({date})" if version and date and not _date(version) else version or date


def _newest_row(table: Table, trail: list[str]) -> str:
    """The newest edition in a table of versions; empty for any other table."""
    versions = [i for i, name in enumerate(table.header) if _VERSION_COLUMN.fullmatch(name.strip())]
    dates = [i for i, name in enumerate(table.header) if _DATE_COLUMN.fullmatch(name.strip())]
    if not (dates and _HISTORY.search(" ".join((*trail[-1:], table.caption)))) and not (versions and dates):
        return ""
    cells = [
        [row.cells[i] if i is not None else "" for i in (versions[0] if versions else None, dates[0])]
        for row in table.rows
    ]
    return max((_dated(version, _date(date)) for version, date in cells), key=_date, default="")


@cache
def _edition_of_folder(folder: Path) -> str:
    """What a package file or a change log in the folder states."""
    files = [f for f in sorted(folder.iterdir()) if f.is_file() and not f.is_symlink()]
    text = partial(beginning, characters=READ_CHARACTERS)
    changes = next(filter(None, (_newest_entry(text(f)) for f in files if _CHANGES.fullmatch(f.name))), "")
    for names, pattern in _FILES.items():
        for file in files:
            match = re.fullmatch(names, file.name, re.IGNORECASE) and re.search(pattern, text(file), re.MULTILINE)
            if match and not _NO_VERSION.fullmatch(match[1]):
                version, change = match[1].strip(), Edition.read(changes)
                is_dated = change.date and change.version == Edition.read(version).version
                return _dated(version, change.date if is_dated else "")
    return changes


def _newest_entry(text: str) -> str:
    """Version and date of the newest entry of a change log that has a version."""
    entries = (Edition.read(re.sub(r"\(?https?://\S+", "", line)) for line in _ENTRY.findall(text))
    newest = next((edition for edition in entries if "." in edition.version), Edition())
    return _dated(newest.version, newest.date)


def _edition_of_path(path: Path, root: Path) -> str:
    """The innermost part of the path that names a version or a date; `latest` and its like name none."""
    parts = [path.stem, *reversed(path.relative_to(root.parent).parts[:-1])]
    part = next((part for part in parts if names_edition(part) and Edition.read(part)), "")
    alone = _TAIL.search(part)
    return alone[0] if alone else part

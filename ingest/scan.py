"""Find the files to ingest, and say which are skipped and why."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ingest.archives import ENDINGS, is_archive, unpacked
from ingest.exclusions import IGNORE_FILE, Exclusions
from ingest.licences import LICENCE_NAMES
from ingest.readers import FORMATS, format_of
from kb.errors import DocumentError, SourceError

SHEETS = Path(str(files("kb"))).resolve() / "hardware_docs"
"""Folder of the sheets that ship with kb. A sheet is known by its path below it, wherever kb is installed."""
SHEET = "sheet:/"
"""Prefix of the sources of these sheets."""


@dataclass(frozen=True, slots=True)
class ScannedFile:
    path: Path
    """The file to read: for a member of an archive, its copy in the home's cache."""
    root: Path
    """Nothing outside this folder is read."""
    place: Path
    """Where the user has the file: `path`, or for a member of an archive its path below that of the archive."""
    top: Path
    """The folder or archive that the user named, or the folder of the named file."""
    skip: str = ""
    """Why the file is not read; empty if it is read."""
    fault: str = ""
    """Why it cannot be read, although it should be."""

    @property
    def source(self) -> str:
        return source_of(self.place)

    def named(self, message: str) -> str:
        """A message about the file to read, as one about where the user has it."""
        return message.replace(str(self.path), str(self.place))

    @property
    def shown(self) -> str:
        """Path that begins with the name of the ingested folder."""
        return self.place.relative_to(self.top.parent).as_posix().encode(errors="replace").decode()


def source_of(path: Path) -> str:
    """Return a file's name in the catalog; for a folder, the common prefix of its files without the last slash."""
    if path.is_relative_to(SHEETS):
        return "/".join(("sheet:", *path.relative_to(SHEETS).parts))
    return path.as_posix()


def place_of(source: str) -> Path:
    """Return where the user has the file that the catalog knows as `source`; see `ScannedFile.place`."""
    return SHEETS / source.removeprefix(SHEET) if source.startswith(SHEET) else Path(source)


def file_of(source: str, home: Path) -> Path:
    """Return the file to read for a source of a home; a file that is gone does not exist."""
    place = place_of(source)
    archive = next((above for above in place.parents if is_archive(above) and not is_gone(above)), None)
    if archive is None:
        return place
    try:
        return unpacked(archive, home).folder / place.relative_to(archive)
    except DocumentError:
        return place


def scan(
    path: Path, *, hidden: bool, unknown: bool = False, exclude: Sequence[str] = (), home: Path | None = None
) -> list[ScannedFile]:
    """Return the file `path`, or every file below the folder or archive `path`, sorted by name.

    Args:
        hidden: Also read files and folders whose name begins with a dot.
        unknown: Also read files of unknown formats.
        exclude: Patterns of files to skip, in the form of .gitignore, besides those of `.kbignore` files.
        home: See `unpacked`.

    Raises:
        SourceError: `path` does not exist or cannot be listed, or a pattern is malformed.
    """
    path = path.expanduser().absolute()
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise SourceError(f"no such file or folder: {path}", hint="check the path") from error
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}", hint="check its permissions") from error
    path = path.resolve()
    exclusions = Exclusions(path if path.is_dir() else path.parent, exclude)
    if path.is_file() and is_archive(path):
        return _members(path, path, exclusions, hidden=hidden, unknown=unknown, home=home)
    if path.is_file():
        skip = exclusions.given(path) or _skip(path, path.parent, hidden=True, unknown=unknown)
        return [ScannedFile(path, path.parent, path, path.parent, skip)]
    found: list[ScannedFile] = []
    for file in sorted(_walk(path)):
        skip = exclusions.reason(file) or _skip(file, path, hidden=hidden, unknown=unknown)
        if is_archive(file) and not skip:
            found += _members(file, path, exclusions, hidden=hidden, unknown=unknown, home=home)
        else:
            found.append(ScannedFile(file, path, file, path, skip))
    return found


def is_gone(path: Path) -> bool:
    """Whether there is no such file or folder; one that may not be seen is not gone."""
    try:
        path.stat()
    except OSError as error:
        return isinstance(error, FileNotFoundError | NotADirectoryError)
    return False


def nothing_to_read(paths: Sequence[Path], found: Sequence[ScannedFile]) -> SourceError:
    """Return the error for `paths` without any document that kb reads."""
    kinds = ", ".join(sorted({c.path.suffix or c.path.name for c in found}))
    return SourceError(
        f"{', '.join(map(str, paths))} " + (f"holds no document that kb reads (only {kinds})" if found else "is empty"),
        hint=f"kb reads {', '.join(sorted((*FORMATS, *ENDINGS)))}",
    )


def file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stamp(path: Path, includes: tuple[str, ...]) -> str:
    """Return size and modification time of a file and of all its includes: equal stamps mean nothing to read.

    A missing file is stamped with its path alone, so that the next ingest notices when it appears.
    """
    return json.dumps([seen(p) for p in (path, *map(Path, includes))])


def seen(path: Path) -> tuple[str | int, ...]:
    """Return the part of a stamp for one file in its present state."""
    try:
        found = path.stat()
    except OSError:
        return (str(path),)
    return str(path), found.st_size, found.st_mtime_ns


def stamped_includes(stored: str) -> tuple[str, ...]:
    return tuple(entry[0] for entry in json.loads(stored)[1:])


def _members(
    archive: Path, top: Path, exclusions: Exclusions, *, hidden: bool, unknown: bool, home: Path | None
) -> list[ScannedFile]:
    """Return the files in an archive, or the archive with its fault."""
    try:
        inside = unpacked(archive, home)
    except DocumentError as error:
        return [ScannedFile(archive, archive.parent, archive, top, fault=str(error))]
    found = []
    for file in sorted(_walk(inside.folder)):
        place = archive / file.relative_to(inside.folder)
        nested = "an archive in an archive" if is_archive(file) else ""
        skip = exclusions.reason(place) or nested or _skip(file, inside.folder, hidden=hidden, unknown=unknown)
        found.append(ScannedFile(file, inside.folder, place, top, skip))
    refused = ((Path(f"{archive}/{name}"), why) for name, why in inside.refused.items())
    return [*found, *(ScannedFile(archive, archive.parent, place, top, why) for place, why in refused)]


def _walk(root: Path) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        reason = f"{error.filename} cannot be listed: {error.strerror}"
        raise SourceError(reason, hint="check its permissions") from error

    for folder, folders, names in os.walk(root, onerror=refuse):
        yield from (Path(folder) / name for name in names)
        yield from (link for name in folders if (link := Path(folder) / name).is_symlink())


def _skip(path: Path, root: Path, *, hidden: bool, unknown: bool) -> str:
    if not hidden and any(part.startswith(".") for part in path.relative_to(root).parts):
        return "hidden (--hidden reads it)"
    if os.fsencode(path).decode(errors="replace") != str(path):
        return "its name is not UTF-8"
    if not Path(os.path.realpath(path)).is_relative_to(root):
        return "a link that leads out of the folder"
    if not path.is_file():
        return "not a regular file"
    if path.name == IGNORE_FILE:
        return "the list of files to leave out"
    if path.name.upper().startswith((*LICENCE_NAMES, "NOTICE")):
        return "a licence, not a manual"
    if format_of(path) is None and not unknown and not is_archive(path):
        kind = f"{path.suffix.lower()} files" if path.suffix else "files without suffix"
        return f"{kind} are not read (--unknown reads them as plain text)"
    return ""

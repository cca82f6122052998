"""Unpack archives of documents into a home's cache, safely; an unchanged archive is unpacked once."""

import errno
import gzip
import json
import shutil
import stat
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from os import utime
from pathlib import Path, PurePosixPath
from typing import IO

from kb.errors import DocumentError
from kb.settings import cache_dir
from kb.types.records import text_digest

ENDINGS = (".zip", ".tar.gz", ".tgz")
MOST_MEMBERS = 20_000
MOST_BYTES = 4 << 30
"""Most bytes that the files of one archive may have together, counted while they are unpacked."""

_PIECE = 1 << 20
_IMPOSSIBLE_NAMES = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.EINVAL)
_FAULTS = (OSError, EOFError, RuntimeError, zipfile.BadZipFile, tarfile.TarError, zlib.error)


@dataclass(frozen=True, slots=True)
class Unpacked:
    folder: Path
    """Folder of the files, in the cache."""
    refused: dict[str, str]
    """Why other members were not unpacked, by their names."""


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    refusal: str
    """Why it is not unpacked; empty if it is a file that can be."""
    changed: float
    """Time of its last change, in seconds."""
    open: Callable[[], IO[bytes] | None]


def is_archive(path: Path) -> bool:
    return path.name.lower().endswith(ENDINGS)


def folder_name(path: Path) -> str:
    """The name of a folder, or that of an archive without its ending."""
    ending = next((e for e in ENDINGS if path.name.lower().endswith(e)), "")
    return path.name[: len(path.name) - len(ending)]


def unpacked(archive: Path, home: Path | None) -> Unpacked:
    """The files of an archive. Links, encrypted files and names that lead out of the archive are refused.

    Args:
        home: The home in whose cache it is unpacked; None: the cache of all homes.

    Raises:
        DocumentError: the archive is damaged or too large, or the cache cannot be written.
    """
    try:
        found = archive.stat()
        cache = (home / "cache" if home else cache_dir()) / "archives"
        place = text_digest(str(archive))
        folder = cache / f"{place}-{text_digest(str(found.st_size), str(found.st_mtime_ns))}"
        if not folder.is_dir():
            cache.mkdir(parents=True, exist_ok=True)
            for earlier in cache.glob(f"{place}-*"):
                shutil.rmtree(earlier, ignore_errors=True)
            _unpack(archive, folder)
        return Unpacked((folder / "files").resolve(), json.loads((folder / "refused.json").read_text(encoding="utf-8")))
    except _FAULTS as error:
        hint = "check the file, or unpack it and name the folder"
        raise DocumentError(f"{archive} cannot be unpacked: {error}", hint=hint) from error


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack into `folder`, which appears only when it is complete."""
    with tempfile.TemporaryDirectory(dir=folder.parent, ignore_cleanup_errors=True) as staged:
        whole = Path(staged) / "whole"
        (whole / "files").mkdir(parents=True)
        refused = _copy_members(archive, whole / "files")
        (whole / "refused.json").write_text(json.dumps(refused), encoding="utf-8")
        if not folder.is_dir():  # another process may have been faster
            whole.rename(folder)


def _copy_members(archive: Path, folder: Path) -> dict[str, str]:
    """Write the files below `folder`; return why other members were refused."""
    refused: dict[str, str] = {}
    left = MOST_BYTES
    members = _zip_members(archive) if archive.name.lower().endswith(".zip") else _tar_members(archive)
    for number, member in enumerate(members, 1):
        if number > MOST_MEMBERS:
            raise _too_large(archive, f"{MOST_MEMBERS:,} files")
        path = PurePosixPath(member.name.replace("\\", "/"))
        outside = path.is_absolute() or ".." in path.parts or not path.parts
        if refusal := member.refusal or ("its path points outside the archive" if outside else ""):
            refused[member.name] = f"not unpacked: {refusal}"
            continue
        try:
            left -= _copy(member, folder / path, most=left)
        except OSError as error:
            if error.errno not in _IMPOSSIBLE_NAMES:
                raise
            refused[member.name] = f"not unpacked: it cannot have this name: {error.strerror}"
        if left < 0:
            raise _too_large(archive, f"{MOST_BYTES:,} bytes")
    return refused


def _copy(member: _Member, to: Path, *, most: int) -> int:
    """Write a member to a file and return its size; stop when it has more than `most` bytes."""
    to.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    source = member.open()
    assert source is not None  # noqa: S101 - only links and folders cannot be opened
    with source, to.open("wb") as file:
        while size <= most and (piece := source.read(_PIECE)):
            size += file.write(piece)
    utime(to, (member.changed, member.changed))
    return size


def _zip_members(archive: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(archive) as opened:
        for info in opened.infolist():
            encrypted = "it is encrypted" if info.flag_bits & 1 else ""
            link = "it is a link" if stat.S_ISLNK(info.external_attr >> 16) else ""
            changed = time.mktime((*info.date_time, 0, 0, -1))
            if not info.is_dir():
                yield _Member(info.filename, encrypted or link, changed, partial(opened.open, info))


class _Careful(gzip.GzipFile):
    """A gzip file from which nothing can read much at once: a header may claim any length."""

    def read(self, size: int | None = -1) -> bytes:
        if size is None or not 0 <= size <= _PIECE:
            raise tarfile.ReadError(f"a part of {size:,} bytes cannot be")
        return super().read(size)


def _tar_members(archive: Path) -> Iterator[_Member]:
    with _Careful(archive) as plain, tarfile.open(fileobj=plain, mode="r:") as opened:
        for info in opened:
            if opened.offset > MOST_BYTES + MOST_MEMBERS * tarfile.RECORDSIZE:
                raise _too_large(archive, f"{MOST_BYTES:,} bytes")
            link = "it is a link" if info.issym() or info.islnk() else ""
            other = "" if info.isfile() else "it is not a regular file"
            if not info.isdir():
                yield _Member(info.name, link or other, info.mtime, partial(opened.extractfile, info))


def _too_large(archive: Path, most: str) -> DocumentError:
    return DocumentError(f"{archive} holds more than {most}", hint="unpack it and name the folder")

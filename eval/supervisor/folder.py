"""The folder of a worker: made with a lock that shows that its judge is alive, and removed whatever is in it.

The files that compilers make of a candidate there are copied to the folders of its other workers. The candidate may
have put anything there: its other workers run it, but the judge believes none of it.
"""

import fcntl
import os
import secrets
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

FOLDER = "kb-worker-"
"""Start of the names."""
MOST_S = 60.0
"""Time after which a folder is left as it is: a process may fill it faster than it is emptied."""
Artifacts = dict[str, tuple[int, bytes]]
"""What compilers made: mode and content of files by their names, with THE_FOLDER in place of the folder's path."""
THE_FOLDER, PERMISSIONS = b"//kb-worker//", 0o777
MOST_BYTES, MOST_FILES, MOST_DEEP = 64 << 20, 10_000, 20
"""More is not copied: bytes, files and folders, folders in each other. Triton writes nine files for each kernel."""


def new_folder() -> tuple[Path, int]:
    """A new folder, with a lock that shows that its judge is alive. Folders of killed judges are removed first."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER}*"):
        with suppress(OSError):
            remove(folder, _locked(folder))
    while True:
        folder = Path(tempfile.mkdtemp(prefix=FOLDER))
        with suppress(BlockingIOError, FileNotFoundError):  # another judge may lock and remove it before us
            return folder, _locked(folder)


def remove(folder: Path, lock: int) -> None:
    """Remove a folder and release its lock, which is a handle of it.

    A candidate may have nested folders deeper than a path can be long, or made them unreadable, and a process of it may
    still put links in their places. So each is emptied by its handle: what it holds moves to the top, to be removed.
    """
    deadline = time.monotonic() + MOST_S
    with suppress(OSError):
        while names := os.listdir(lock):
            for name in names:
                try:
                    os.unlink(name, dir_fd=lock)
                except IsADirectoryError:
                    with suppress(NotADirectoryError):  # a link by now
                        _flatten(name, lock)
            if time.monotonic() > deadline:
                break
        folder.rmdir()
    os.close(lock)


def collect(artifacts: Artifacts, folder: Path, *, below: str = ".") -> None:
    """Add the regular files in and below a folder within `folder`, unless they are too many or too large.

    A process of the worker may change all of it meanwhile; no link is followed.
    """
    found: Artifacts = {}
    size = 0
    with suppress(OSError):
        for name, file in _files(folder, below):
            content = file.read(MOST_BYTES - size + 1)
            size += len(content)
            found[name] = os.fstat(file.fileno()).st_mode & PERMISSIONS, content.replace(bytes(folder), THE_FOLDER)
            if size > MOST_BYTES:
                return
        artifacts |= found


def restore(artifacts: Artifacts, folder: Path) -> None:
    """Write the files into another worker's folder, whose path is as long."""
    for name, (mode, content) in artifacts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.replace(THE_FOLDER, bytes(folder)))
        path.chmod(mode)


def _files(folder: Path, below: str) -> Iterator[tuple[str, BinaryIO]]:
    """The regular files below a folder within `folder`: their names there, and each open for as long as it is used.

    Each folder is read by its handle, and opened by that of the one above, so it lies where it seems to lie.

    Raises:
        OSError: there is no such folder, or there are too many entries.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # O_NONBLOCK: a pipe would hold us up
    entries, top = 0, os.open(folder, flags)

    def opened(name: str, _: int) -> int:
        return os.open(name, flags, dir_fd=inside)

    try:
        for place, folders, files, inside in os.fwalk(below, dir_fd=top):  # noqa: B007 - `opened` uses it
            entries += len(folders) + len(files)
            if entries > MOST_FILES:
                raise OSError(f"more than {MOST_FILES} files and folders")
            folders[:] = folders if place.count("/") < MOST_DEEP else []
            for name in files:
                with suppress(OSError), open(name, "rb", opener=opened) as file:  # it may be a link, or gone
                    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                        yield os.path.normpath(f"{place}/{name}"), file
    finally:
        os.close(top)


def _flatten(name: str, top: int) -> None:
    """Move what a folder in `top` holds to `top`, and remove the folder."""
    inside = _opened(name, top)
    try:
        for child in os.listdir(inside):  # noqa: PTH208 - a handle
            with suppress(NotADirectoryError):  # a folder moves only if it may be changed
                os.close(_opened(child, inside))
            os.rename(child, secrets.token_hex(), src_dir_fd=inside, dst_dir_fd=top)
    finally:
        os.close(inside)
    os.rmdir(name, dir_fd=top)


def _opened(name: str, folder: int) -> int:
    """A handle of a folder that its owner may now change. Raises NotADirectoryError if it is none, such as a link."""
    if sys.platform != "linux":
        raise OSError("candidates are judged on Linux only")
    itself = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY, dir_fd=folder)
    try:
        place = f"/proc/self/fd/{itself}"
        Path(place).chmod(0o700)
        return os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    finally:
        os.close(itself)


def _locked(folder: Path) -> int:
    """Raises OSError if another process holds the lock or has removed the folder. The lock ends with its holder."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder.lstat()
    except OSError:
        os.close(handle)
        raise
    return handle

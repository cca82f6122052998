"""The folder of a worker: made with a lock that shows that its judge is alive, and removed whatever is in it."""

import fcntl
import os
import secrets
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

FOLDER = "kb-worker-"
"""Start of the names."""
MOST_S = 60.0
"""Time after which a folder is left as it is: a process may fill it faster than it is emptied."""


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

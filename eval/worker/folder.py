"""The folder of a worker: made with a lock that shows that its judge is alive, and removed whatever is in it."""

import fcntl
import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

FOLDER = "kb-worker-"
"""Start of the names."""


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
    """Remove a folder and release its lock.

    A candidate may have nested folders deeper than a path can be long, or made them unreadable.
    """
    folders = [folder]
    with suppress(OSError):
        for here in folders:
            for entry in list(os.scandir(here)):
                if entry.is_dir(follow_symlinks=False):
                    folders.append(folder / secrets.token_hex())
                    Path(entry).chmod(0o700)
                    Path(entry).rename(folders[-1])
                else:
                    Path(entry).unlink()
        for here in reversed(folders):
            here.rmdir()
    os.close(lock)


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

"""The files that compilers make of a candidate in the folder of its first worker, kept for its other workers.

The candidate may have put anything there. Its other workers run it, but none believes it.
"""

import os
import stat
from collections.abc import Collection, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

Compiled = dict[str, tuple[int, bytes]]
"""Mode and content of files by their names, with THE_FOLDER in place of the folder's path."""
THE_FOLDER, PERMISSIONS = b"//kb-worker//", 0o777
MOST_BYTES, MOST_FILES = 64 << 20, 500
"""More is not kept. The files and folders are open at the same time."""


def names_in(folder: Path) -> set[str]:
    """Names of the regular files in and below a folder."""
    return {name for name, _ in _files(folder, ".")}


def keep(compiled: Compiled, folder: Path, *, below: str = ".", known: Collection[str] = ()) -> None:
    """Add the regular files in and below a folder within `folder`, unless they are too many or too large.

    A process of the worker may change all of it meanwhile; no link is followed.

    Args:
        known: Names of files that are left out.
    """
    found: Compiled = {}
    size = 0
    with suppress(OSError):
        for name, handle in _files(folder, below):
            if name not in known:
                with open(handle, "rb", closefd=False) as file:
                    content = file.read(MOST_BYTES - size + 1)
                size += len(content)
                found[name] = os.fstat(handle).st_mode & PERMISSIONS, content.replace(bytes(folder), THE_FOLDER)
            if size > MOST_BYTES:
                return
        compiled |= found


def _files(folder: Path, below: str) -> Iterator[tuple[str, int]]:
    """The regular files below a folder within `folder`: their names there, and a handle that is closed at the end.

    Each folder is read by its handle, and opened by that of the one above, so it lies where it seems to lie.

    Raises:
        OSError: there is no such folder, or there are too many entries.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # O_NONBLOCK: a pipe would hold us up
    with ExitStack() as at_end:
        opened: list[int] = []

        def open_(name: str, parent: int | None) -> int:
            opened.append(os.open(name, flags, dir_fd=parent))
            at_end.callback(os.close, opened[-1])
            return opened[-1]

        folders = {below: open_(below, open_(str(folder), None))}
        while folders:
            here, inside = folders.popitem()
            for name in os.listdir(inside):  # noqa: PTH208 - a handle
                if len(opened) > MOST_FILES:
                    raise OSError(f"more than {MOST_FILES} files and folders")
                with suppress(OSError):  # a link, or removed meanwhile
                    handle, place = open_(name, inside), os.path.normpath(f"{here}/{name}")
                    mode = os.fstat(handle).st_mode
                    if stat.S_ISDIR(mode):
                        folders[place] = handle
                    elif stat.S_ISREG(mode):
                        yield place, handle


def restore(compiled: Compiled, folder: Path) -> None:
    """Write the files into another worker's folder, whose path is as long."""
    for name, (mode, content) in compiled.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.replace(THE_FOLDER, bytes(folder)))
        path.chmod(mode)

"""Read a file in a folder that others may write: they may have put anything in its place."""

import os
import stat
from pathlib import Path


def regular_text(path: Path, *, most: int) -> str:
    """The text of a file.

    Raises:
        OSError: there is none, or it is a link.
        ValueError: it is a pipe, a device or a folder, or has more than `most` bytes.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)  # O_NONBLOCK: a pipe would hold us up
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            raise ValueError(f"{path.name} is no regular file of at most {most:,} bytes")
        return file.read(most).decode("utf-8", errors="replace")

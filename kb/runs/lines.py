"""A file of lines that is only appended to. A line is there whole or not at all, also if a disk is full or power fails.

What follows the last whole line is not read: the rest of a line, and NUL bytes that keep room for lines to come.
"""

import os
from io import FileIO
from pathlib import Path

READINGS = 5
"""A file is read again so often if it seems damaged: lines may be written into their room while it is read."""


class Lines:
    """One process appends at a time, and reads the file before. Others may read meanwhile."""

    def __init__(self, path: Path) -> None:
        self._path, self._end = path, 0

    def read(self) -> list[bytes]:
        """All whole lines. Raises OSError."""
        for _ in range(READINGS):
            text = self._path.read_bytes()
            whole, _, behind = text.partition(b"\0")
            if behind.count(b"\n") <= 1:  # otherwise lines came meanwhile, or the file is damaged, as its reader finds
                text = whole
                break
        self._end = text.rfind(b"\n") + 1
        return text[: self._end].splitlines()

    def trim(self) -> None:
        """Remove what follows the last line. Raises OSError."""
        os.truncate(self._path, self._end)

    def append(self, line: bytes, *, room: int = 0) -> None:
        """Append a line, and sync it to the disk, where so many bytes are kept for others behind it.

        Raises:
            OSError: the line is not there; the room that was kept before is, if only space was missing.
        """
        with self._path.open("r+b", buffering=0) as file:
            before = file.seek(0, os.SEEK_END)
            try:
                _write(file, bytes(max(0, self._end + len(line) + room - before)))
                file.seek(before := self._end)
                _write(file, line)
                os.fsync(file.fileno())
            except OSError:
                file.truncate(before)
                raise
        self._end += len(line)


def _write(file: FileIO, content: bytes) -> None:
    while content:  # the system may write a part, and tells of a full disk when the rest is written
        content = content[file.write(content) :]

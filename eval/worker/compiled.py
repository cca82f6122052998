"""The files that compilers make of a candidate in the folder of its first worker, kept for its other workers.

The candidate may have put anything there. Its other workers run it, but none believes it.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

Compiled = dict[str, tuple[int, bytes]]
"""Mode and content of files by their names, with THE_FOLDER in place of the folder's path."""
THE_FOLDER, PERMISSIONS = b"//kb-worker//", 0o777
MOST_BYTES, MOST_FILES = 64 << 20, 1000
"""More is not kept."""


def files_below(folder: Path) -> Iterator[Path]:
    for here, _, names in os.walk(folder):  # follows no links
        yield from (Path(here, name) for name in names)


def keep(compiled: Compiled, folder: Path, files: Iterable[Path]) -> None:
    """Add files of a folder, unless they are too many or too large."""
    with suppress(OSError):
        listed = list(islice(files, MOST_FILES + 1))
        found = [path for path in listed if not path.is_symlink() and path.is_file()]
        if len(listed) <= MOST_FILES and sum(path.stat().st_size for path in found) <= MOST_BYTES:
            for path in found:
                content = path.read_bytes().replace(bytes(folder), THE_FOLDER)
                compiled[str(path.relative_to(folder))] = path.stat().st_mode & PERMISSIONS, content


def restore(compiled: Compiled, folder: Path) -> None:
    """Write the files into another worker's folder, whose path is as long."""
    for name, (mode, content) in compiled.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.replace(THE_FOLDER, bytes(folder)))
        path.chmod(mode)

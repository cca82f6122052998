"""Files that are written whole or not at all, also in a power cut; and names for files."""

import os
import re
import secrets
import shutil
import sys
from pathlib import Path

STAGED = ".staged-"
"""How the name of a file begins that is not complete yet."""


def write_whole(path: Path, text: str) -> None:
    """Replace the text of a file, or make the file and its folder; a link stays a link, permissions stay as they were.

    Raises:
        OSError: it cannot be written; the file is as it was, and nothing lies beside it.
    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = path.with_name(f"{STAGED}{secrets.token_hex(8)}")
    try:
        write_synced(staged, text.encode())
        if path.exists():
            shutil.copymode(path, staged)
        staged.replace(path)
    finally:
        staged.unlink(missing_ok=True)
    sync_folders(path.parent)


def write_synced(path: Path, content: bytes) -> None:
    """Write a new file; on return its content is on the disk, its name is after `sync_folders`."""
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folders(*folders: Path) -> None:
    """Make the names in `folders` outlast a power cut; Windows cannot be asked for that."""
    for folder in folders if sys.platform != "win32" else ():
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def slug(text: str) -> str:
    """`text` as a part of a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")

"""Writes files whole or not at all, even in a power cut; makes file names."""

import os
import re
import secrets
import shutil
import sys
from pathlib import Path

STAGED = ".staged-"
"""Prefix of the name of a file that is not complete yet."""


def write_whole(path: Path, text: str) -> None:
    """Replace the text of a file, or create the file and its folder; links and permissions are kept.

    Raises:
        OSError: the file cannot be written; it is unchanged, and no temporary file is left.
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
    """Write a new file. On return its content is on disk; its name is on disk after `sync_folders`."""
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folders(*folders: Path) -> None:
    """Make the file names in `folders` survive a power cut; Windows has no call for this."""
    for folder in folders if sys.platform != "win32" else ():
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def slug(text: str) -> str:
    """`text` in a form that is safe in file names."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")

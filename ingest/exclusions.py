"""Which files a user leaves out: by `--exclude`, and by `.kbignore` files with the patterns of .gitignore."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from pathspec import GitIgnoreSpec

from kb.errors import SourceError

IGNORE_FILE = ".kbignore"


class Exclusions:
    """The patterns for files below a folder.

    Args:
        folder: The folder to which the patterns are relative.
        patterns: Patterns of the command line; they come before those of files.

    Raises:
        SourceError: a pattern is malformed.
    """

    def __init__(self, folder: Path, patterns: Sequence[str]) -> None:
        self._folder = folder
        self._given = _spec(patterns, "--exclude")
        self._in = cache(_ignored_in)

    def given(self, file: Path) -> str:
        """Why the command line excludes a file; empty if it does not."""
        return _reason(self._given, file.relative_to(self._folder), "--exclude") or ""

    def reason(self, file: Path) -> str:
        """Why a file is excluded; empty if it is not. The nearest `.kbignore` file with a pattern for it decides."""
        if given := self.given(file):
            return given
        specs = ((folder, spec) for folder in file.parents if (spec := self._in(folder)))
        found = (_reason(spec, file.relative_to(folder), str(folder / IGNORE_FILE)) for folder, spec in specs)
        return next((reason for reason in found if reason is not None), "")


def _reason(spec: GitIgnoreSpec, file: Path, where: str) -> str | None:
    """Why the patterns exclude a file: empty if one keeps it (`!name`), None if none applies to it."""
    found = spec.check_file(file.as_posix())
    if not found.include or found.index is None:
        return None if found.include is None else ""
    return f"excluded by {spec.patterns[found.index].pattern!r} ({where})"


def _ignored_in(folder: Path) -> GitIgnoreSpec | None:
    file = folder / IGNORE_FILE
    try:
        return _spec(file.read_text(encoding="utf-8").splitlines(), str(file)) if file.is_file() else None
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{file} cannot be read: {error}", hint="correct the file") from error


def _spec(patterns: Sequence[str], where: str) -> GitIgnoreSpec:
    try:
        return GitIgnoreSpec.from_lines(patterns)
    except (ValueError, re.error) as error:
        raise SourceError(f"{where} has a malformed pattern: {error}", hint="use the patterns of .gitignore") from error

"""Which files a user leaves out: by `--exclude`, and by `.kbignore` files with the patterns of .gitignore."""

import re
from collections.abc import Sequence
from functools import cache
from itertools import takewhile
from pathlib import Path

from gitignore_parser import IgnoreRule, rule_from_pattern

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
        self._given = _rules(patterns, folder, "--exclude")
        self._in = cache(_rules_in)

    def given(self, file: Path) -> str:
        """Why the command line excludes a file; empty if it does not."""
        return _reason(self._given, file, self._folder, "--exclude") or ""

    def reason(self, file: Path) -> str:
        """Why a file is excluded; empty if it is not. The nearest `.kbignore` file with a pattern for it decides."""
        if given := self.given(file):
            return given
        found = (_reason(self._in(folder), file, folder, str(folder / IGNORE_FILE)) for folder in file.parents)
        return next((reason for reason in found if reason is not None), "")


def _reason(rules: Sequence[IgnoreRule], file: Path, folder: Path, where: str) -> str | None:
    """Why the rules exclude a file: empty if one keeps it (`!name`), None if none applies to it.

    The last rule for the file or for a folder around it decides.
    """
    places = (file, *takewhile(lambda above: above != folder, file.parents))
    rule = next((rule for rule in reversed(rules) if any(map(rule.match, places))), None)
    if rule is None:
        return None
    return "" if rule.negation else f"excluded by {rule.pattern!r} ({where})"


def _rules_in(folder: Path) -> Sequence[IgnoreRule]:
    file = folder / IGNORE_FILE
    try:
        return _rules(file.read_text(encoding="utf-8").splitlines(), folder, str(file)) if file.is_file() else ()
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{file} cannot be read: {error}", hint="correct the file") from error


def _rules(patterns: Sequence[str], folder: Path, where: str) -> Sequence[IgnoreRule]:
    try:
        rules = [rule for pattern in patterns if (rule := rule_from_pattern(pattern, base_path=folder))]
        for rule in rules:
            re.compile(rule.regex)
    except (IndexError, re.error) as error:
        raise SourceError(f"{where} has a malformed pattern: {error}", hint="use the patterns of .gitignore") from error
    return rules

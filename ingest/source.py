"""A file to read, and its text decoded from any encoding."""

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ingest.charset import BYTE_ORDER_MARKS, decoded
from kb.errors import DocumentError

_DATA_URI = re.compile(r"(?P<markdown>\]\(|\]:[ \t]*)?data:[\w.+/-]*(?:;[\w=.+-]+)*;base64,(?P<payload>[\w+/=%-]*)")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{401,}={0,2}")
"""Matches only from the start of a run, so that no character is scanned twice."""
MOST_NULS, MOST_NUL_SHARE = 8, 0.01
"""A file with more NUL bytes than both limits is not text."""


@dataclass(frozen=True)
class Source:
    path: Path
    root: Path
    """Nothing outside this folder is read."""
    content: bytes
    documents: frozenset[str] = frozenset()
    """Files that are read as documents of their own, so that their text need not be part of this one."""
    warnings: list[str] = field(default_factory=list)

    @cached_property
    def text(self) -> str:
        """The file's text with line ends as `\\n`, without byte order mark and base64 data.

        Raises:
            DocumentError: the file is not text.
        """
        text = self._decoded().replace("\r\n", "\n").replace("\r", "\n")
        return without_data(text.replace("\0", "\N{REPLACEMENT CHARACTER}"))

    def _decoded(self) -> str:
        most_nuls = max(MOST_NULS, MOST_NUL_SHARE * len(self.content))
        if not self.content.startswith(tuple(BYTE_ORDER_MARKS)) and self.content.count(0) > most_nuls:
            raise DocumentError(f"{self.path} is not text", hint="convert it to text")
        try:
            text, doubt = decoded(self.content)
        except UnicodeDecodeError as error:
            reason = f"{self.path} is not UTF-8 (byte 0x{self.content[error.start]:02x}), and its encoding is unknown"
            raise DocumentError(reason, hint="convert it to UTF-8") from error
        self.warnings.extend([doubt] * bool(doubt))
        return text


def beginning(file: Path, characters: int) -> str:
    """Return the first characters of a text file; empty if it cannot be read."""
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            return opened.read(characters)
    except OSError:
        return ""


def without_data(text: str) -> str:
    """Replace base64 data by a note: each `data:` URI and each unbroken run of more than 400 characters."""
    return _BASE64.sub(lambda found: _note(found.group()), _DATA_URI.sub(_uri_note, text))


def _uri_note(found: re.Match[str]) -> str:
    note = _note(found["payload"])
    # Markdown accepts blanks in the address of an image only inside angle brackets.
    return f"{found['markdown']}<{note}>" if found["markdown"] else note


def _note(data: str) -> str:
    return f"[data left out: {len(data)} characters]"

"""A file to read, and its text decoded from any encoding."""

import codecs
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from kb.errors import DocumentError

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MULTIBYTE = re.compile(rb"[\xc3-\xf4][\x80-\xbf]+")
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
        for mark, encoding in _BYTE_ORDER_MARKS:
            if self.content.startswith(mark):
                return self.content.decode(encoding, errors="replace")
        if self.content.count(0) > max(MOST_NULS, MOST_NUL_SHARE * len(self.content)):
            raise DocumentError(f"{self.path} is not text", hint="convert it to text")
        try:
            return self.content.decode()
        except UnicodeDecodeError as error:
            line = self.content.count(b"\n", 0, error.start) + 1
            place = f"byte 0x{self.content[error.start]:02x} in line {line} is not UTF-8"
            if _MULTIBYTE.search(self.content):
                self.warnings.append(f"{place}: invalid bytes are replaced")
                return self.content.decode(errors="replace")
            self.warnings.append(f"{place}: the file is read as Windows-1252")
            return self.content.decode("cp1252", errors="replace")


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

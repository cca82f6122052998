"""The place of a stored span: its key, lines and headings, and the check that its text is unchanged."""

import sqlite3
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Self

from kb.errors import CitationError
from kb.types.passages import Citation
from kb.types.records import DocumentRecord, SectionRecord, ancestry, text_digest


class Places:
    """Computes the key and the lines of spans of one document."""

    def __init__(self, origin: str, text: str, lines: Sequence[int], sections: Sequence[SectionRecord]) -> None:
        self._origin, self._lines, self._sections = origin, lines, sections
        self._starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
        self._seen: dict[str, int] = {}

    @classmethod
    def in_document(cls, document: DocumentRecord) -> Self:
        return cls(document.origin, document.text, document.lines, document.sections)

    def of(self, section: int | None, start: int, end: int, text: str) -> dict[str, object]:
        titles = [self._sections[i].title for i in ancestry(self._sections, section)]
        base = text_digest(self._origin, *titles, text)
        nth = self._seen[base] = self._seen.get(base, -1) + 1
        lines = self._lines
        first, last = (bisect_right(self._starts, at) - 1 for at in (start, max(start, end - 1)))
        return {
            "key": text_digest(base, str(nth))[:12],
            "line_start": lines[first],
            "line_end": max(lines[first], lines[last]),
        }


class Trails:
    """Makes citations; each heading path is read only once."""

    def __init__(self, read: Callable[[int, int], tuple[str, ...]]) -> None:
        self._read = read
        self._paths: dict[tuple[int, int], tuple[str, ...]] = {}

    def citation(self, row: sqlite3.Row) -> Citation:
        return Citation(
            id=row["key"],
            path=row["path"],
            sha256=row["sha256"],
            section=() if row["section"] is None else self._path(row["document_id"], row["section"]),
            line_start=row["line_start"],
            line_end=row["line_end"],
        )

    def _path(self, document: int, section: int) -> tuple[str, ...]:
        if (document, section) not in self._paths:
            self._paths[document, section] = self._read(document, section)
        return self._paths[document, section]


def packed_lines(lines: Sequence[int]) -> bytes:
    """The line numbers of a document as the column `lines` holds them."""
    return zlib.compress(array("I", lines).tobytes())


def unpacked_lines(column: bytes) -> Sequence[int]:
    return array("I", zlib.decompress(column))


def check(row: sqlite3.Row, digest: str) -> None:
    if digest != row["digest"]:
        raise CitationError(
            f"the text cited as {row['key']} is not what {row['path']} holds", hint="`kb doctor` checks the catalog"
        )

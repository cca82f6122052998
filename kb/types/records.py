"""Records that ingest passes to the catalog. Spans are (start, end) in characters of the document's text."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Trust(StrEnum):
    """How far a document is trusted."""

    MEASURED = "measured"
    """kb measured it on a device."""
    VENDOR = "vendor"
    """The maker of the chip states it."""
    COMMUNITY = "community"
    """Others state it; shown with this mark."""
    UNTRUSTED = "untrusted"
    """Found only by search and shown with this mark; never a source of facts, never in a prompt that kb writes."""


class Form(StrEnum):
    """How a document states a fact."""

    STATED = "stated"
    """In a table in kb's format for facts."""
    TABLE = "table"
    """In any other table, or in an instruction's name; extracted by kb."""
    PROPOSED = "proposed"
    """Anywhere; a reader, a person or a model, quoted the words, and they hold the value."""


def text_digest(*parts: str) -> str:
    """128-bit digest of `parts`, with a separator so that ('ab', 'c') differs from ('a', 'bc')."""
    return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class SectionRecord:
    """A heading's subtree."""

    level: int
    title: str
    start: int
    end: int
    parent: int | None
    """Index of the enclosing section in the document's list."""


def ancestry(sections: Sequence[SectionRecord], index: int | None) -> list[int]:
    """Indices from the outermost enclosing section to `index` itself."""
    trail: list[int] = []
    while index is not None:
        trail.insert(0, index)
        index = sections[index].parent
    return trail


@dataclass(frozen=True, slots=True)
class RowRecord:
    """A row of a table."""

    start: int
    end: int
    statement: str
    """Text for the lexical index: caption, and each cell with its header."""
    cells: tuple[tuple[str, int, int], ...]
    """Header, start and end of each non-empty cell, counted from the row's start."""


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    section: int | None
    kind: str
    lead: str
    start: int
    end: int
    heading: str
    """Heading path as text, for the lexical index."""
    body: str
    """Text for the lexical index: lead and text; for a fact's row only the statement."""
    windows: tuple[str, ...]
    """Texts to embed: the body below its breadcrumb, split into as many windows as the model needs."""
    rows: tuple[RowRecord, ...] = ()
    """Rows of the tables in the chunk."""


@dataclass(frozen=True, slots=True)
class FactRecord:
    section: int | None
    target: str
    quantity: str
    value: str
    number: float | None
    unit: str
    condition: str
    source: str
    start: int
    end: int
    form: Form = Form.STATED


@dataclass(frozen=True, slots=True)
class DocumentState:
    """State of a stored document, without its text."""

    source: str
    origin: str
    """What its ids are made of: the path that citations showed first, or the source of a sheet. No two documents of a
    home have the same."""
    path: str
    target: str
    sha256: str
    stamp: str
    pipeline: str
    trust: Trust
    private: bool
    """Whether it must not leave the user's machines."""


@dataclass(frozen=True, slots=True)
class DocumentRecord(DocumentState):
    title: str
    format: str
    version: str
    licence: str
    text: str
    lines: tuple[int, ...]
    """For each line of `text`, its line in the file, counted from 1."""
    warnings: tuple[str, ...]
    sections: tuple[SectionRecord, ...]
    chunks: tuple[ChunkRecord, ...]
    facts: tuple[FactRecord, ...]

    def window_digests(self) -> Mapping[str, str]:
        """Text of each window by its digest."""
        return {text_digest(w): w for c in self.chunks for w in c.windows}


@dataclass(frozen=True, slots=True)
class Generation:
    """A published vector index, and the catalog revision it was built from."""

    name: str
    revision: int
    model: str
    count: int
    checksum: str

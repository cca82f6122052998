"""What ingest hands to the catalog. Spans are (start, end) in characters of the document's text."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Trust(StrEnum):
    """How far a document is believed."""

    MEASURED = "measured"
    """kb measured it on a device."""
    VENDOR = "vendor"
    """Who makes the chip says so."""
    COMMUNITY = "community"
    """Others say so; shown as such."""
    UNTRUSTED = "untrusted"
    """Found by a search and shown as such; never a fact, never in a prompt that kb writes."""


class Form(StrEnum):
    """How a document says a fact."""

    STATED = "stated"
    """In a table whose header says that it holds facts."""
    TABLE = "table"
    """In another table, read by kb."""
    SENTENCE = "sentence"
    """In running text or a list, or in a table of which kb did not understand all; read by kb."""
    PROPOSED = "proposed"
    """Pointed at by a model; the number stands in the text."""


def text_digest(*parts: str) -> str:
    """128 bits over `parts`, which cannot run into each other."""
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


@dataclass(frozen=True, slots=True)
class RowRecord:
    """A row of a table."""

    start: int
    end: int
    statement: str
    """What is searched of it: caption, and each cell with its header."""
    cells: tuple[tuple[str, int, int], ...]
    """Header and span of each cell that is not empty; the span counts from the row's start."""


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
    """What is searched of it: lead and text, of a fact's row the statement alone."""
    windows: tuple[str, ...]
    """What is embedded: the body below its breadcrumb, in as many windows as the model needs."""
    rows: tuple[RowRecord, ...] = ()
    """Of the tables in it."""


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
    """What is known of a stored document without reading its text."""

    id: int
    source: str
    path: str
    target: str
    sha256: str
    stamp: str
    pipeline: str
    trust: Trust


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    source: str
    path: str
    target: str
    title: str
    format: str
    version: str
    licence: str
    trust: Trust
    sha256: str
    stamp: str
    pipeline: str
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
    """A published vector index: which rows of the catalog it was made from."""

    name: str
    revision: int
    model: str
    count: int
    checksum: str

"""Stored documents: their properties and their headings; the outcome of an ingest."""

from typing import Literal

from pydantic import Field, computed_field

from kb.types.base import Frozen
from kb.types.passages import Passage
from kb.types.records import Trust


class Document(Frozen):
    """A stored document without its text."""

    path: str
    """Path as citations show it, from the folder that names the target on; no other document has it."""
    source: str
    """The file (for a member of an archive, its path below that of the archive), or `sheet:/<path>` for a document that
    ships with kb."""
    target: str
    title: str
    format: str
    version: str
    """Version as the document states it; empty if it states none."""
    licence: str
    trust: Trust
    private: bool
    """Whether it must not leave the user's machines: no hosted author and no MCP host gets any of it."""
    sha256: str
    """SHA-256 of the file when it was read."""
    changed_on: str
    """Day of the file's last change before it was read, ISO 8601 in UTC; empty if unknown."""
    passages: int
    facts: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def ships_with_kb(self) -> bool:
        return self.source.startswith("sheet:/")


class Section(Frozen):
    """A heading with the section below it."""

    trail: tuple[str, ...]
    """Headings from the document's top to this one; empty for text before the first heading."""
    line: int
    """Line of the heading in the file, or page in a PDF, counted from 1."""
    passages: int
    """Number of passages in this section and its subsections."""


class Holdings(Frozen):
    """Counts of the contents of a document's stored text."""

    characters: int
    sections: int
    passages: int
    tables: int
    rows: int
    """Rows of all tables, without header rows."""
    code_blocks: int
    facts: int
    warnings: tuple[str, ...]
    """Warnings of the reader."""


class Outline(Frozen):
    """A document with its tree of headings."""

    document: Document
    file: str
    file_exists: bool
    """Whether the file exists and can be read."""
    file_same: bool
    """Whether the file is unchanged since it was read."""
    holds: Holdings
    sections: tuple[Section, ...]
    """Sections in document order; if a heading was requested, only those with that heading and their subsections."""
    passages: tuple[Passage, ...] = ()
    """Passages of these sections; empty if no heading was requested."""


class FileReport(Frozen):
    """The outcome of ingesting one file."""

    path: str
    target: str
    outcome: str
    """`new`, `changed`, `unchanged`, `moved` (another file, the same content), `removed`, `skipped` or `failed`."""
    reason: str = ""
    chunks: int = 0
    facts: int = 0
    format: str = ""
    """Format of a document that was read."""
    warnings: tuple[str, ...] = ()


class NewTarget(Frozen):
    """A target that an ingest added."""

    name: str
    parent: str
    folder: str
    """The folder that names it; empty if the user named it."""
    similar: tuple[str, ...]
    """Known targets with similar names, if the user named it: it may be a slip."""
    family: str = ""
    """A family of chips whose vector instructions its documents name; empty if they do not, or it has a family."""


class SharedFolder(Frozen):
    """A folder that may be about a chip of its own, although its documents went to a target that is named above it."""

    folder: str
    target: str
    parent: str
    """Parent that the chip would have."""


class IngestReport(Frozen):
    """The outcome of one ingest."""

    files: tuple[FileReport, ...]
    new_targets: tuple[NewTarget, ...]
    shared: tuple[SharedFolder, ...]
    reading_seconds: float
    embedding_seconds: float
    embedded: int
    """Number of passages that got their vectors, also those of documents that an earlier ingest read."""
    unread: int
    """Number of files that are still to be read; 0 unless the ingest was interrupted."""
    unembedded: int
    """Number of passages in the home that have no vector of the embedding model yet."""
    interrupted: bool
    dry_run: bool

    def count(self, outcome: str) -> int:
        return sum(f.outcome == outcome for f in self.files)


class IngestInterrupted(KeyboardInterrupt):
    """An ingest was interrupted. What it stored stays; `report` says what is left, and the next ingest goes on."""

    def __init__(self, report: IngestReport) -> None:
        super().__init__()
        self.report = report


class Progress(Frozen):
    """How far one phase of an ingest has come."""

    phase: Literal["reading", "embedding"]
    done: int
    """Number of files that were read, or of passages that got their vectors."""
    total: int
    share: float = Field(ge=0, le=1)
    """Share of the phase's work that is done, by the length of files and texts."""
    file: FileReport | None = None
    """The file that was just read; it is stored. None at the start of a phase, and while passages are embedded."""

"""What is known of a stored document: what it is, its headings, what was kept of its file."""

from pydantic import Field, computed_field

from kb.model.base import Frozen
from kb.model.passages import Passage
from kb.model.records import Trust


class Document(Frozen):
    """A stored document without its text."""

    path: str
    """As citations show it: from the ingested folder's own name downwards."""
    source: str
    """The file, or `sheet:/<path>` for what ships with kb."""
    target: str
    title: str
    format: str
    version: str
    """As the document states it; empty when it states none."""
    licence: str
    trust: Trust
    sha256: str
    """Of the file's bytes when it was read."""
    changed_on: str
    """Day of the file's last change before it was read, ISO 8601 in UTC; empty when that is not known."""
    passages: int
    facts: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def ships_with_kb(self) -> bool:
        return self.source.startswith("sheet:/")

    @property
    def edition(self) -> str:
        """The version it states, else the one that its citations name."""
        return self.version or f"@{self.sha256[:8]}"


class Section(Frozen):
    """A heading and what stands below it."""

    trail: tuple[str, ...]
    """Headings from the document's top to this one; empty for what stands before the first heading."""
    level: int
    """As the file says; levels may be skipped, so the depth in the tree is the length of the trail."""
    line: int
    """Of the heading in the file, of a PDF its page, counted from 1."""
    passages: int
    """In it and in all sections below it."""


class Holdings(Frozen):
    """What the stored text of a document holds."""

    characters: int
    sections: int
    passages: int
    tables: int
    rows: int
    """Of all tables, without their headers."""
    code_blocks: int
    facts: int
    warnings: tuple[str, ...]
    """Of its reader."""


class Outline(Frozen):
    """A document with its tree of headings."""

    document: Document
    file: str
    file_exists: bool
    """And can be read."""
    file_same: bool
    """Whether the file still holds what was read."""
    holds: Holdings
    sections: tuple[Section, ...]
    """In the document's order; with a heading asked for, those with that heading and all below them."""
    passages: tuple[Passage, ...] = ()
    """Of these sections; empty when no heading was asked for."""


class PlacedPassage(Frozen):
    """A passage between its neighbours."""

    passage: Passage
    number: int
    """Of the document's passages, counted from 1."""
    of: int
    before: tuple[Passage, ...]
    """In the document's order, as `after`."""
    after: tuple[Passage, ...]


class Coverage(Holdings):
    """What was kept of a file."""

    path: str
    target: str
    format: str
    file_bytes: int
    """Size of the file, and of those it includes, when it was read."""
    words_kept: float | None = Field(ge=0, le=1)
    """Share of the distinct words of the file, its markup included, that stand in the stored text. None where the file
    is gone, has changed or has no words."""
    words_lacking: tuple[str, ...]
    """The others, in the order of the alphabet."""


class FileReport(Frozen):
    """What ingest did with one file."""

    path: str
    target: str
    outcome: str
    """`new`, `changed`, `unchanged`, `removed`, `skipped` or `failed`."""
    reason: str = ""
    chunks: int = 0
    facts: int = 0
    warnings: tuple[str, ...] = ()


class IngestReport(Frozen):
    """What one ingest read, skipped and why."""

    files: tuple[FileReport, ...]
    new_targets: tuple[str, ...]
    notes: tuple[str, ...]
    seconds: float
    dry_run: bool

    def count(self, outcome: str) -> int:
        return sum(f.outcome == outcome for f in self.files)

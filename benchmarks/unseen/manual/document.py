"""A document as a tree of headings, paragraphs, tables, code and notes, before it has a format."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

PAGE_CHARACTERS = 1800
"""Characters of a standard page (30 lines of 60); the PDFs, which have many tables, hold about 1,100 on a page."""


class Format(StrEnum):
    """The value is the suffix of the file."""

    MARKDOWN = "md"
    REST = "rst"
    HTML = "html"
    ASCIIDOC = "adoc"
    PDF = "pdf"
    CSV = "csv"


@dataclass(frozen=True)
class Paragraph:
    text: str
    """Names of instructions and the like stand between backticks."""


@dataclass(frozen=True)
class Bullets:
    items: tuple[str, ...]


@dataclass(frozen=True)
class Note:
    text: str


@dataclass(frozen=True)
class Code:
    text: str


@dataclass(frozen=True)
class Table:
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


@dataclass(frozen=True)
class Section:
    title: str
    blocks: tuple["Block", ...]


Block = Paragraph | Bullets | Note | Code | Table | Section


@dataclass(frozen=True)
class Document:
    """One file. A document in CSV is one table."""

    path: PurePosixPath
    """Below the folder of the manuals; its suffix is the format."""
    title: str
    edition: str
    """Version and date, as the head of the document gives them; empty in CSV."""
    blocks: tuple[Block, ...]

    @property
    def format(self) -> Format:
        return Format(self.path.suffix[1:])

    @property
    def pages(self) -> float:
        return sum(map(len, texts(self.blocks))) / PAGE_CHARACTERS


def texts(blocks: tuple[Block, ...]) -> Iterator[str]:
    """All texts of the blocks in reading order."""
    for block in blocks:
        match block:
            case Section():
                yield block.title
                yield from texts(block.blocks)
            case Bullets():
                yield from block.items
            case Table():
                yield block.caption
                yield from block.header
                for row in block.rows:
                    yield from row
            case _:
                yield block.text

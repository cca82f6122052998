"""A document with its headings or its text, and the lines around a citation."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from kb.types.base import Frozen, short
from kb.types.passages import CitedPlace, text_of
from kb.types.records import Trust
from kb.views.response import LABEL_CHARACTERS, STATED_CHARACTERS, LongText, view_of

if TYPE_CHECKING:  # the caller has it open; loading it here would delay the start of the MCP server
    from kb.usecases.knowledge_base import KnowledgeBase

CHANGED = "the file has changed; this is the text that was ingested"
GONE = "the file no longer exists; this is the text that was ingested"

_PLACE = re.compile(r"(?::\d+(?:-\d+)?|#page=\d+(?:-\d+)?)$")
"""The lines or pages behind a path."""


class CitedText(LongText):
    """Lines with their numbers in the file (pages of a PDF); `>` marks the cited lines."""

    id: str
    target: str
    trust: Trust
    citation: str
    place: str
    file: str
    """Its place on this machine."""
    stated: str
    """The content of a row, cell or fact, with headers; the caption and header for a part of a table."""


class Heading(Frozen):
    line: int

    depth: int
    title: str
    passages: int


class DocumentView(LongText):
    """The headings of a document; or, if text was asked for, passages, each below its id, lines and headings."""

    path: str
    file: str
    target: str
    trust: Trust
    private: bool
    """Whether it must not leave the user's machines."""
    title: str
    format: str
    version: str
    """As stated; the start of its SHA-256; the day of its last change."""
    licence: str
    holds: dict[str, int]
    warnings: tuple[str, ...]
    headings: tuple[Heading, ...]

    @property
    def parts(self) -> int:
        return len(self.headings or self.text)

    def first(self, n: int) -> Self:
        return super().first(n).with_(headings=self.headings[:n], warnings=())


def cited(kb: "KnowledgeBase", citation_id: str, *, around: int, offset: int = 0) -> CitedText:
    """The cited lines and `around` more on both sides, from character `offset` on. Errors as in `Documents.cite`."""
    with kb.catalog.snapshot():
        place = kb.documents.cite(citation_id, around=around)
        document = kb.documents.get(place.citation.path)
        stated = _stated(kb, place.citation.id, place)
    return CitedText(
        id=citation_id,
        target=document.target,
        trust=document.trust,
        citation=str(place.citation),
        place=place.citation.place,
        file=place.file + place.citation.place.removeprefix(place.citation.path),
        stated=short(stated, STATED_CHARACTERS),
        text=_numbered(place.lines)[offset:],
        offset=offset,
        notes=_state(exists=place.file_exists, same=place.file_same),
    )


def document(
    kb: "KnowledgeBase", name: str, *, section: str | None = None, whole: bool = False, offset: int = 0
) -> DocumentView:
    """The headings of a document from number `offset` on, or the text of a section, or all text, from character
    `offset` on. Errors as in `Documents.outline`.
    """
    outline = kb.documents.outline(_PLACE.sub("", name), section=section, whole=whole)
    held = outline.document
    changed_on = f"file of {held.changed_on}" if held.changed_on else ""
    headings = () if outline.passages else outline.sections
    top = min((len(s.trail) for s in headings), default=0)
    return view_of(
        DocumentView,
        held,
        file=outline.file,
        title=short(held.title, LABEL_CHARACTERS),
        version=", ".join(filter(None, (held.version, f"@{held.sha256[:8]}", changed_on))),
        licence=held.licence or "unknown",
        holds=outline.holds.model_dump(exclude={"warnings"}),
        warnings=tuple(short(warning, LABEL_CHARACTERS) for warning in outline.holds.warnings),
        headings=tuple(
            Heading(line=s.line, depth=len(s.trail) - top, title=s.trail[-1], passages=s.passages)
            for s in headings[offset:]
        ),
        text=text_of(outline.passages)[offset:],
        offset=offset,
        notes=_state(exists=outline.file_exists, same=outline.file_same),
    )


def _state(*, exists: bool, same: bool) -> tuple[str, ...]:
    return () if same else (CHANGED if exists else GONE,)


def _stated(kb: "KnowledgeBase", key: str, place: CitedPlace) -> str:
    if place.cell:
        return place.cell
    if row := kb.catalog.row(key):
        return row.shown
    if fact := kb.catalog.fact(key):
        return f"{fact.quantity} of {fact.target} = {fact.value} {fact.unit}; {fact.condition}; {fact.source}"
    return kb.catalog.passage(key).lead


def _numbered(lines: Sequence[tuple[int, str, bool]]) -> str:
    """Lines of (number, text, cited) as text: each with its number, which is shown once for lines of one page."""
    width = max((len(str(number)) for number, _, _ in lines), default=1)
    numbered, above = [], 0
    for number, text, cited in lines:
        shown = number if text and number != above else ""
        numbered.append(f"{'>' if cited else ' '} {shown:>{width}} | {text}")
        above = number if text else above
    return "\n".join(numbered)

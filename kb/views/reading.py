"""A document as it was read, a part at a time, with what is cited marked in it."""

from typing import TYPE_CHECKING

from kb.types.base import Frozen
from kb.types.passages import Passage
from kb.views.response import view_of

if TYPE_CHECKING:  # the caller has it open; loading it here would delay the start of the MCP server
    from kb.usecases.knowledge_base import KnowledgeBase

PASSAGES_SHOWN = 30
"""Most passages in one part of a document; a part of a PDF is one page."""


class ReadPassage(Frozen):
    id: str
    """The id to cite."""
    place: str
    lines: str
    trail: str
    """Title and headings."""
    kind: str
    """`text`, `table` or `code`."""
    marks: tuple[str, ...]
    """Who states it, unless it is the vendor."""
    lead: str
    """Caption and header of the table that it is part of."""
    before: str
    cited: str
    """The words of the row or fact that is cited; empty if none is, or the passage as a whole."""
    after: str


class Reading(Frozen):
    """One part of a document. `previous` and `next` are the lines (in a PDF: pages) where its neighbours begin."""

    line: int
    """Line or page where it begins."""
    last: int
    """The last line or page of the document."""
    previous: int | None
    next: int | None
    cited: str
    """The id of the passage with what is cited; empty if nothing is."""
    passages: tuple[ReadPassage, ...]


def reading(kb: "KnowledgeBase", name: str, *, line: int = 1, cited: str = "") -> Reading:
    """The part of a document that begins at a line or page. Errors as in `Documents.get`."""
    document = kb.documents.get(name)
    last = kb.catalog.last_line(document.source)
    if document.format == "pdf":
        page = min(max(line, 1), max(last, 1))
        found = kb.catalog.passages(kb.catalog.chunks_on(document.source, page, page))
        before, after = page - 1 or None, page + 1 if page < last else None
    else:
        ids = kb.catalog.chunk_ids(document.source)
        following = kb.catalog.chunks_on(document.source, line, last)
        at = ids.index(following[0]) if following else 0
        shown = kb.catalog.passages(ids[max(0, at - PASSAGES_SHOWN) : at + PASSAGES_SHOWN + 1])
        earlier, found = shown[: min(at, PASSAGES_SHOWN)], shown[min(at, PASSAGES_SHOWN) :]
        page = found[0].citation.line_start if found else 1
        before = earlier[0].citation.line_start if earlier else None
        after = found[PASSAGES_SHOWN].citation.line_start if len(found) > PASSAGES_SHOWN else None
        found = found[:PASSAGES_SHOWN]
    marked = kb.documents.passage(cited).citation.id if cited else ""
    passages = tuple(_read(kb, one, cited if one.citation.id == marked else "") for one in found)
    return Reading(line=page, last=last, previous=before, next=after, cited=marked, passages=passages)


def passage(kb: "KnowledgeBase", citation_id: str) -> ReadPassage:
    """The passage that an id names, or that contains the cited row or fact. Errors as in `Documents.passage`."""
    return _read(kb, kb.documents.passage(citation_id), citation_id)


def _read(kb: "KnowledgeBase", passage: Passage, cited: str) -> ReadPassage:
    start, end = (kb.catalog.span(cited.partition(".")[0]) if cited else None) or (0, 0)
    text = passage.text
    lines = passage.citation.lines
    return view_of(ReadPassage, passage, lines=lines, before=text[:start], cited=text[start:end], after=text[end:])

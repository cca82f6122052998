"""A document as it was read, a part at a time, with what is cited marked in it."""

import re
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from kb.types.base import Frozen
from kb.types.passages import Passage
from kb.views.response import view_of

if TYPE_CHECKING:  # the caller has it open; loading it here would delay the start of the MCP server
    from kb.usecases.knowledge_base import KnowledgeBase

PASSAGES_SHOWN = 30
"""Most passages in one part of a document; a part of a PDF is one page."""
LINES_AROUND = 4
"""Most lines before and after the words of a fact."""


_CELLS = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r":?-{3,}:?")


class Row(Frozen):
    cells: tuple[str, ...]
    is_cited: bool


class Table(Frozen):
    caption: str
    header: tuple[tuple[str, ...], ...]
    rows: tuple[Row, ...]


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
    before: str
    cited: str
    """The words of the row or fact that is cited; empty if none is, or the passage as a whole."""
    after: str
    table: Table | None
    """The same text as a table, with the caption and the header of the whole; None if it is no table."""


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
    parts: tuple[tuple[ReadPassage, ...], ...]
    """The passages; those in a row that share the header of a table are together."""


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
    passages = (_read(kb, one, cited if one.citation.id == marked else "") for one in found)
    return Reading(line=page, last=last, previous=before, next=after, cited=marked, parts=_together(passages))


def _together(passages: Iterable[ReadPassage]) -> tuple[tuple[ReadPassage, ...], ...]:
    def shared(one: ReadPassage) -> object:
        return (one.trail, one.table.header) if one.table and one.table.header else one.id

    return tuple(tuple(group) for _, group in groupby(passages, key=shared))


def quoted(kb: "KnowledgeBase", citation_id: str) -> ReadPassage:
    """What an id cites, with only a few lines or none of the rows around it. Errors as in `Documents.passage`."""
    read = _read(kb, kb.documents.passage(citation_id), citation_id)
    if not read.cited:
        return read
    before, after = read.before.split("\n"), read.after.split("\n")
    cut = {"before": "\n".join(before[-LINES_AROUND - 1 :]), "after": "\n".join(after[: LINES_AROUND + 1])}
    rows = read.table and read.table.model_copy(update={"rows": tuple(r for r in read.table.rows if r.is_cited)})
    return read.model_copy(update=cut | {"table": rows})


def _read(kb: "KnowledgeBase", passage: Passage, cited: str) -> ReadPassage:
    start, end = (kb.catalog.span(cited.partition(".")[0]) if cited else None) or (0, 0)
    text = passage.text
    return view_of(
        ReadPassage,
        passage,
        lines=passage.citation.lines,
        before=text[:start],
        cited=text[start:end],
        after=text[end:],
        table=_table(passage, start, end),
    )


def _table(passage: Passage, start: int, end: int) -> Table | None:
    """A table's passage with the rows between two characters of its text cited; None if it is no table's."""
    if passage.kind != "table":
        return None
    lines, at = [(line, False) for line in passage.lead.splitlines()], 0
    for line in passage.text.split("\n"):
        lines.append((line, at < end and start < at + len(line)))
        at += len(line) + 1
    caption = " ".join(line for line, _ in lines if not line.startswith("|"))
    rows = [Row(cells=_cells(line), is_cited=is_cited) for line, is_cited in lines if line.startswith("|")]
    rule = next((n for n, row in enumerate(rows) if all(map(_RULE.fullmatch, row.cells))), -1)
    header = tuple(row.cells for row in rows[: max(rule, 0)])
    return Table(caption=caption.strip(), header=header, rows=tuple(rows[rule + 1 :]))


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip().replace("\\|", "|") for cell in _CELLS.split(line.strip())[1:-1])

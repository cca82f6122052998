"""A document as it was read, a part at a time, with what is cited marked in it."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise

from kb.types.base import Frozen
from kb.types.passages import Passage
from kb.usecases.knowledge_base import KnowledgeBase
from kb.views.response import view_of

PASSAGES_SHOWN = 30
"""Most passages in one part of a document; a part of a PDF is one page."""
LINES_AROUND = 4
"""Most lines before and after the words of a fact."""


_CELLS = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r":?-{3,}:?")


class Text(Frozen):
    before: str
    cited: str
    """The words of the row or fact that is cited; empty if none are."""
    after: str


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
    blocks: tuple[Text | Table, ...]
    """What it says; a `table` is one block, with the caption and the header of the whole."""

    @property
    def header(self) -> object:
        """What the rows of one table have in common; the id for another passage."""
        table = self.blocks[0] if self.kind == "table" else None
        return (self.trail, table.header) if isinstance(table, Table) and table.header else self.id


class Reading(Frozen):
    """One part of a document: a page of a PDF, or some passages of another."""

    line: int
    """Line or page where it begins."""
    last: int
    """The last line or page of the document."""
    previous: int | None
    """The page before it, or the number of the passage where the part before it begins; None if it is the first."""
    next: int | None
    """The same of the part after it."""
    cited: str
    """The id of the passage with what is cited; empty if nothing is."""
    parts: tuple[tuple[ReadPassage, ...], ...]
    """The passages; those in a row that share the header of a table are together."""


def reading(
    kb: KnowledgeBase, name: str, *, page: int = 1, start: int = 0, section: int | None = None, cited: str = ""
) -> Reading:
    """A part of a document.

    Args:
        page: Which page of a PDF.
        start: In another document, the number of its first passage, from 0.
        section: Instead, the number of the heading, from 0, at whose first passage it begins.
        cited: Id of what to mark.

    Raises:
        DocumentError: no document or several documents have this name.
        CitationError: `cited` is unknown.
    """
    document = kb.documents.get(name)
    last = kb.catalog.last_line(document.source)
    marked = kb.documents.passage(cited).citation.id if cited else ""
    if document.format == "pdf":
        line = min(page, max(last, 1))
        ids = kb.catalog.chunks_on(document.source, line)
        before, after = line - 1 or None, line + 1 if line < last else None
    else:
        known = kb.catalog.chunk_ids(document.source)
        if section is not None:
            below = kb.catalog.chunk_ids(document.source, range(section, len(kb.catalog.outline(document.source))))
            start = known.index(below[0]) if below else 0
        start = start if start < len(known) else 0
        ids, end = known[start : start + PASSAGES_SHOWN], start + PASSAGES_SHOWN
        before, after = max(0, start - PASSAGES_SHOWN) if start else None, end if end < len(known) else None
    found = kb.catalog.passages(ids)
    if document.format != "pdf":
        line = found[0].citation.line_start if found else 1
    passages = (_read(kb, one, cited if one.citation.id == marked else "") for one in found)
    parts = tuple(tuple(group) for _, group in groupby(passages, key=lambda one: one.header))
    return Reading(line=line, last=last, previous=before, next=after, cited=marked, parts=parts)


def quoted(kb: KnowledgeBase, citation_id: str) -> ReadPassage:
    """What an id cites, with a few lines or none of the rows around it. Errors as in `Documents.passage`."""
    read = _read(kb, kb.documents.passage(citation_id), citation_id)
    near = tuple(cut for block in read.blocks if (cut := _near(block)))
    return read.model_copy(update={"blocks": near}) if near else read


def _near(block: Text | Table) -> Text | Table | None:
    """The part of a block around what is cited; None if nothing in it is."""
    if isinstance(block, Table):
        rows = tuple(row for row in block.rows if row.is_cited)
        return block.model_copy(update={"rows": rows}) if rows else None
    if not block.cited:
        return None
    before, after = block.before.split("\n")[-LINES_AROUND - 1 :], block.after.split("\n")[: LINES_AROUND + 1]
    return Text(before="\n".join(before), cited=block.cited, after="\n".join(after))


def _read(kb: KnowledgeBase, passage: Passage, cited: str) -> ReadPassage:
    span = (kb.catalog.span(cited.partition(".")[0]) if cited else None) or (0, 0)
    return view_of(ReadPassage, passage, lines=passage.citation.lines, blocks=tuple(_blocks(passage, *span)))


def _blocks(passage: Passage, start: int, end: int) -> Iterator[Text | Table]:
    """What a passage says, with the words or rows between two characters of its text cited."""
    body = passage.body
    lead = len(body) - len(passage.text)
    start, end = (start + lead, end + lead) if start < end else (0, 0)
    starts = [0, *accumulate(len(line) for line in body.splitlines(keepends=True))]
    lines = [(body[a:b].rstrip("\n"), a < end and start < b) for a, b in pairwise(starts)]
    if passage.kind == "table":
        yield _table(lines)
        return
    numbered = enumerate(line.startswith("|") and passage.kind == "text" for line, _ in lines)
    for is_table, group in groupby(numbered, key=lambda pair: pair[1]):
        of = [number for number, _ in group]
        a, b = starts[of[0]], starts[of[-1] + 1]
        if is_table:
            yield _table(lines[of[0] : of[-1] + 1])
        elif body[a:b].strip():
            first, last = min(max(start, a), b), min(max(end, a), b)
            yield Text(before=body[a:first].lstrip("\n"), cited=body[first:last], after=body[last:b].rstrip("\n"))


def _table(lines: Sequence[tuple[str, bool]]) -> Table:
    """The table of lines of which some are cited; those that are no row are its caption."""
    caption = " ".join(line for line, _ in lines if not line.startswith("|"))
    rows = [Row(cells=_cells(line), is_cited=is_cited) for line, is_cited in lines if line.startswith("|")]
    rule = next((n for n, row in enumerate(rows) if all(map(_RULE.fullmatch, row.cells))), -1)
    header = tuple(row.cells for row in rows[: max(rule, 0)])
    return Table(caption=caption.strip(), header=header, rows=tuple(rows[rule + 1 :]))


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip().replace("\\|", "|") for cell in _CELLS.split(line.strip())[1:-1])

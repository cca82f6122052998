"""Cut a parsed document into chunks: parts of one section, small enough to be ranked and packed separately."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from ingest.builder import CHUNK_CHARACTERS, Block, BlockKind, ParsedDocument, Table
from ingest.facts import is_fact_table
from ingest.grouping import grouped
from ingest.windows import windows
from kb.types.embedding import Tokenizer
from kb.types.records import ChunkRecord, RowRecord

_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_SENTENCE = re.compile(r"(?<=[.!?;:])\s+")
_LINE = re.compile(r"\n")
_BLANK = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A span that is not cut further."""

    kind: BlockKind
    start: int
    end: int
    lead: str = ""
    statement: str = ""
    """Searched text of a fact's row: without the source cell, which says nothing about the chip and hides the rest."""
    rows: tuple[RowRecord, ...] = ()


def chunk(document: ParsedDocument, *, title: str, tokenizer: Tokenizer | None) -> tuple[ChunkRecord, ...]:
    """Cut `document` into chunks, in document order.

    Neighbouring blocks of one section share a chunk while they fit. A table or code block that fits stays whole. A
    longer table is cut between rows, and each part has caption and header as its lead; longer code is cut between
    lines, at blank ones if possible, longer prose between sentences. A table row or code line is never cut, however
    long. Each row of a fact table is a chunk.

    Args:
        title: Title of the document; begins each breadcrumb.
        tokenizer: Tokenizer of the embedding model, which limits the windows; None if nothing is embedded.
    """
    with_children = {s.parent for s in document.sections}
    records: list[ChunkRecord] = []
    body_blocks = (b for b in document.blocks if b.kind is not BlockKind.FURNITURE)
    for section, run in groupby(body_blocks, key=lambda b: b.section):
        trail = document.trail(section)
        blocks = list(run)
        body = [b for b in blocks if b.kind is not BlockKind.HEADING]
        if not body and section not in with_children:
            body = blocks  # a heading with nothing below it must still be found
        for group in grouped((piece for block in body for piece in _pieces(document.text, block)), _fits):
            start, end, lead = group[0].start, group[-1].end, group[0].lead
            searched = group[0].statement or f"{lead}\n{document.text[start:end]}".strip()
            is_code = all(piece.kind is BlockKind.CODE for piece in group)
            is_table = len(group) == 1 and group[0].kind is BlockKind.TABLE
            records.append(
                ChunkRecord(
                    section=section,
                    kind=(group[0].kind if is_code or is_table else BlockKind.TEXT).value,
                    lead=lead,
                    start=start,
                    end=end,
                    heading=" > ".join(trail),
                    body=searched,
                    windows=windows((title, *trail), searched, tokenizer) if tokenizer else (),
                    rows=tuple(row for piece in group for row in piece.rows),
                )
            )
    return tuple(records)


def _pieces(text: str, block: Block) -> Iterator[_Piece]:
    table = block.table
    lead = text[block.start : table.rows[0].start].rstrip() if table and table.rows else ""  # caption and header
    if table and table.rows and is_fact_table(table):
        for row in table.rows:
            yield _Piece(block.kind, row.start, row.end, lead, " ".join(row.cells[:-1]).strip())
    elif block.end - block.start <= CHUNK_CHARACTERS or (table and not table.rows):
        yield _Piece(block.kind, block.start, block.end, rows=_rows(table) if table else ())
    elif table:
        for rows in grouped(_rows(table), lambda rows, row: len(lead) + row.end - rows[0].start <= CHUNK_CHARACTERS):
            yield _Piece(block.kind, rows[0].start, rows[-1].end, lead, rows=tuple(rows))
    else:
        is_code = block.kind is BlockKind.CODE
        patterns = (_BLANK_LINE, _LINE) if is_code else (_SENTENCE, _LINE, _BLANK)
        for start, end in _cut(text, block.start, block.end, patterns, hard=not is_code):
            yield _Piece(block.kind, start, end)


def _rows(table: Table) -> tuple[RowRecord, ...]:
    """Return each row of a table with its searched text."""
    found = []
    for row in table.rows:
        header = table.header or ("",) * len(row.cells)
        filled = [(name, cell, span) for name, cell, span in zip(header, row.cells, row.spans, strict=True) if cell]
        said = "; ".join(f"{name} = {cell}" if name else cell for name, cell, _ in filled)
        cells = tuple((name, start - row.start, end - row.start) for name, _, (start, end) in filled)
        found.append(RowRecord(row.start, row.end, f"{table.caption}\n{said}".strip(), cells))
    return tuple(found)


def _fits(group: Sequence[_Piece], piece: _Piece) -> bool:
    """Whether a piece fits into the chunk of a group; a part of a table stays alone with its lead."""
    return not (piece.lead or group[-1].lead) and piece.end - group[0].start <= CHUNK_CHARACTERS


def _cut(
    text: str, start: int, end: int, patterns: Sequence[re.Pattern[str]], *, hard: bool
) -> Iterator[tuple[int, int]]:
    """Yield spans that fit and cover `text[start:end]`, each up to the last match of the first pattern that matches.

    If no pattern matches, a `hard` cut may fall anywhere; otherwise the span runs to the next match.
    """
    while end - start > CHUNK_CHARACTERS:
        limit = start + CHUNK_CHARACTERS
        cut = _last_match(text, start, limit, patterns)
        if cut is None:
            following = patterns[-1].search(text, limit, end)
            cut = limit if hard else following.end() if following else end
        yield start, start + len(text[start:cut].rstrip())
        start = cut
    if text[start:end].strip():
        yield start, end


def _last_match(text: str, start: int, limit: int, patterns: Sequence[re.Pattern[str]]) -> int | None:
    for pattern in patterns:
        least = (start + limit) // 2 if pattern is _BLANK_LINE else start
        if ends := [m.end() for m in pattern.finditer(text, least, limit) if text[start : m.end()].strip()]:
            return ends[-1]
    return None

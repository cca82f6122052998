"""Rules for the chunks of every document with every tokenizer, one check for each."""

from collections.abc import Sequence
from itertools import pairwise

from ingest.builder import Block, BlockKind, ParsedDocument
from ingest.facts import is_fact_table
from kb.types.embedding import Tokenizer
from kb.types.records import ChunkRecord


class ByteTokenizer:
    """One token for each byte of UTF-8, blanks included: the worst case of a byte-level tokenizer."""

    def __init__(self, max_tokens: int) -> None:
        self.max_tokens = max_tokens

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return [(at, at + 1) for at, sign in enumerate(text) for _ in sign.encode()]


def check_windows(chunks: Sequence[ChunkRecord], tokenizer: Tokenizer) -> None:
    """Every window fits the model; together the windows hold the searched text and, besides it, only breadcrumbs."""
    for chunk in chunks:
        assert all(len(tokenizer.token_spans(w)) <= tokenizer.max_tokens for w in chunk.windows), "a window is too long"
        bodies = [window.partition("\n")[2] for window in chunk.windows]
        assert all(body.strip() for body in bodies), "a window holds only its breadcrumb"
        assert _dense("".join(bodies)) == _dense(chunk.body), "the windows lost or repeat text"


def check_bodies(document: ParsedDocument, chunks: Sequence[ChunkRecord]) -> None:
    """A chunk is searched whole, lead included; a fact is searched without its source."""
    tables = [b.table for b in document.blocks if b.table and is_fact_table(b.table)]
    facts = {row.start: " ".join(row.cells[:-1]).strip() for table in tables for row in table.rows}
    for chunk in chunks:
        whole = chunk.lead + document.text[chunk.start : chunk.end]
        assert _dense(chunk.body) == _dense(facts.get(chunk.start, "") or whole), "other text is searched"


def check_coverage(document: ParsedDocument, chunks: Sequence[ChunkRecord]) -> None:
    """Every character below the headings is in one chunk, or in the lead of the parts of its table."""
    assert all(document.text[c.start : c.end].strip() for c in chunks), "a chunk is empty"
    assert all(one.end <= other.start for one, other in pairwise(chunks)), "chunks overlap or are out of order"
    covered = bytearray(len(document.text))
    for chunk in chunks:
        covered[chunk.start : chunk.end] = b"\1" * (chunk.end - chunk.start)
    for block in document.blocks:
        led = _lead(document, block) if any(c.lead and _inside(c, block) for c in chunks) else ""
        start = block.start + len(led)
        lost = "".join(s for s, seen in zip(document.text[start : block.end], covered[start : block.end], strict=True)
                       if not seen)  # fmt: skip
        may_be_lost = block.kind in (BlockKind.HEADING, BlockKind.FURNITURE)
        assert may_be_lost or not lost.strip(), f"lost from a {block.kind}: {lost[:80]!r}"


def check_cuts(document: ParsedDocument, chunks: Sequence[ChunkRecord]) -> None:
    """No cut falls inside a table row or a line of code, and no chunk joins two sections."""
    for chunk in chunks:
        for block in (b for b in document.blocks if b.start < chunk.end and chunk.start < b.end):
            assert block.section == chunk.section, "a chunk reaches into another section"
            for row in block.table.rows if block.table else ():
                assert not row.start < chunk.start < row.end, "a chunk begins inside a row"
                assert not row.start < chunk.end < row.end, "a chunk ends inside a row"
            if block.kind is BlockKind.CODE:
                before, after = _around(document.text, chunk)
                assert chunk.start <= block.start or not before.strip(), "a chunk begins inside a line of code"
                assert chunk.end >= block.end or not after.strip(), "a chunk ends inside a line of code"


def check_size(document: ParsedDocument, chunks: Sequence[ChunkRecord], limit: int) -> None:
    """Code and tables that fit are whole; only an uncut row or line may be longer; each fact is a separate chunk."""
    for block in document.blocks:
        if block.table and block.table.rows and is_fact_table(block.table):
            places = [(c.start, c.end) for c in chunks if _inside(c, block)]
            assert places == [(row.start, row.end) for row in block.table.rows], "a fact shares its chunk"
        elif block.kind in (BlockKind.CODE, BlockKind.TABLE):
            whole = any(c.start <= block.start and block.end <= c.end for c in chunks)
            assert whole or block.end - block.start > limit, f"a {block.kind} that fits was cut"
    rows = [row for block in document.blocks if block.table for row in block.table.rows]
    for chunk in chunks:
        lines = [line for line in document.text[chunk.start : chunk.end].split("\n") if line.strip()]
        parts = {"code": len(lines), "table": sum(chunk.start <= r.start < chunk.end for r in rows)}.get(chunk.kind, 2)
        assert len(chunk.lead) + chunk.end - chunk.start <= limit or parts < 2, "a chunk is too long"


def check_leads(document: ParsedDocument, chunks: Sequence[ChunkRecord]) -> None:
    """A part of a table carries caption and header, and nothing else has a lead."""
    for chunk in chunks:
        parts = [b for b in document.blocks if b.table and _inside(chunk, b) and b.start < chunk.start]
        leads = [_lead(document, block).rstrip() for block in parts]
        assert chunk.lead == (leads[0] if leads else ""), "the lead of a part is not caption and header of its table"


def _lead(document: ParsedDocument, block: Block) -> str:
    return document.text[block.start : block.table.rows[0].start] if block.table and block.table.rows else ""


def _inside(chunk: ChunkRecord, block: Block) -> bool:
    return block.start <= chunk.start and chunk.end <= block.end


def _around(text: str, chunk: ChunkRecord) -> tuple[str, str]:
    """Return the text before a chunk on its first line, and after it on its last line."""
    before = text[text.rfind("\n", 0, chunk.start) + 1 : chunk.start]
    after = text[chunk.end :].partition("\n")[0]
    return before, after


def _dense(text: str) -> str:
    return "".join(text.split())


def check_rows(document: ParsedDocument, chunks: Sequence[ChunkRecord]) -> None:
    """Each row of a table, except a fact table, is in one chunk, and all its cells have the right spans."""
    tables = [b.table for b in document.blocks if b.table and not is_fact_table(b.table)]
    rows = {row.start: (table, row) for table in tables for row in table.rows}
    stored = [(chunk, row) for chunk in chunks for row in chunk.rows]
    assert sorted(row.start for _, row in stored) == sorted(rows), "rows are lost or repeated"
    for chunk, record in stored:
        table, row = rows[record.start]
        assert chunk.start <= record.start < record.end <= chunk.end, "a row is outside its chunk"
        header = table.header or [""] * len(row.cells)
        filled = [(name, cell) for name, cell in zip(header, row.cells, strict=True) if cell]
        text = document.text[record.start : record.end]
        cells = [(name, text[start:end].replace("\\|", "|")) for name, start, end in record.cells]
        assert cells == filled, "the cited cells are not the cells of the table"
        assert all(cell in record.statement for _, cell in filled), "a cell is not searched"

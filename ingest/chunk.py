"""From a parsed document to chunks: leaves inside one section whose embedded text fits the embedding model."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from ingest.builder import Block, Kind, ParsedDocument
from ingest.facts import is_fact_table
from kb.catalog import ChunkRecord

BREADCRUMB_SHARE = 0.2
"""Most of the model's length that the breadcrumb may take; a longer one is trimmed in the middle."""

_SENTENCE = re.compile(r"(?<=[.!?;:])\s+")
_LINE = re.compile(r"\n")
_BLANK = re.compile(r"\s+")


class Tokenizer(Protocol):
    """The part of an embedder that chunking needs."""

    @property
    def max_tokens(self) -> int: ...

    def token_spans(self, text: str) -> list[tuple[int, int]]: ...


@dataclass(frozen=True, slots=True)
class _Piece:
    """A span that is not cut further, with its length in tokens."""

    kind: Kind
    start: int
    end: int
    tokens: int
    lead: str = ""


def chunk(document: ParsedDocument, *, title: str, tokenizer: Tokenizer) -> tuple[ChunkRecord, ...]:
    """Cut `document` into chunks, in document order.

    Neighbouring blocks of one section share a chunk while they fit. A table or code block that fits is whole; a longer
    table is cut between rows, each part with caption and header as its lead, longer code between lines, longer prose
    between sentences. A table row is never cut: one that does not fit is embedded in several windows. Each row of a
    fact table is a chunk of its own.
    """
    chunker = _Chunker(document, title, tokenizer)
    return tuple(
        record
        for section, blocks in groupby(document.blocks, key=lambda b: b.section)
        for record in chunker.section(section, list(blocks))
    )


class _Chunker:
    def __init__(self, document: ParsedDocument, title: str, tokenizer: Tokenizer) -> None:
        self._document = document
        self._title = title
        self._tokenizer = tokenizer
        self._with_children = {s.parent for s in document.sections}

    def section(self, section: int | None, blocks: Sequence[Block]) -> Iterator[ChunkRecord]:
        """Chunks of one uninterrupted run of blocks of `section`."""
        trail = self._trail(section)
        breadcrumb = self._breadcrumb(trail)
        budget = self._tokenizer.max_tokens - self._count(breadcrumb)
        body = [b for b in blocks if b.kind is not Kind.HEADING]
        if not body and section not in self._with_children:
            body = list(blocks)  # a heading with nothing below it must still be found
        pieces = [piece for block in body for piece in self._pieces(block, budget)]
        for group in _merge(pieces, budget):
            start, end, lead = group[0].start, group[-1].end, group[0].lead
            kinds = {p.kind for p in group}
            kind = kinds.pop().value if len(kinds) == 1 and not kinds & {Kind.ITEM, Kind.HEADING} else Kind.TEXT.value
            yield ChunkRecord(
                section=section,
                kind=kind,
                lead=lead,
                start=start,
                end=end,
                heading=" > ".join(trail),
                windows=tuple(self._windows(breadcrumb, lead, self._document.text[start:end])),
            )

    def _pieces(self, block: Block, budget: int) -> Iterator[_Piece]:
        text = self._document.text[block.start : block.end]
        spans = self._tokenizer.token_spans(text)
        if block.table is not None and is_fact_table(block.table):
            yield from self._table_pieces(block, room=0)
        elif len(spans) <= budget:
            yield _Piece(block.kind, block.start, block.end, len(spans))
        elif block.table is not None:
            yield from self._table_pieces(block, room=budget)
        else:
            patterns = (_LINE,) if block.kind is Kind.CODE else (_SENTENCE, _LINE, _BLANK)
            for start, end in _cut(text, spans, budget, patterns, hard=block.kind is not Kind.CODE):
                yield _Piece(block.kind, block.start + start, block.start + end, self._count(text[start:end]))

    def _table_pieces(self, block: Block, *, room: int) -> Iterator[_Piece]:
        """Groups of rows that fit into `room` tokens together with caption and header; a row at least."""
        rows = block.table.rows if block.table else ()
        lead = self._document.text[block.start : rows[0].start].rstrip() if rows else ""
        room -= self._count(lead)
        group: list[_Piece] = []
        for row in rows:
            tokens = self._count(self._document.text[row.start : row.end])
            if group and sum(p.tokens for p in group) + tokens > room:
                yield _Piece(Kind.TABLE, group[0].start, group[-1].end, sum(p.tokens for p in group), lead)
                group = []
            group.append(_Piece(Kind.TABLE, row.start, row.end, tokens))
        if group:
            yield _Piece(Kind.TABLE, group[0].start, group[-1].end, sum(p.tokens for p in group), lead)

    def _windows(self, breadcrumb: str, lead: str, text: str) -> Iterator[str]:
        """The texts to embed: one where breadcrumb, lead and text fit together, else as many as it takes."""
        whole = _join(breadcrumb, lead, text)
        if self._count(whole) <= self._tokenizer.max_tokens:
            yield whole
            return
        body = _join(lead, text)
        spans = self._tokenizer.token_spans(body)
        budget = max(1, self._tokenizer.max_tokens - self._count(breadcrumb))
        for start, end in _cut(body, spans, budget, (_LINE, _BLANK), hard=True):
            yield from self._fitting(breadcrumb, body[start:end])

    def _fitting(self, breadcrumb: str, text: str) -> Iterator[str]:
        """Some tokenizers need more tokens for a joined text than for its parts: then halve it."""
        window = _join(breadcrumb, text)
        if self._count(window) <= self._tokenizer.max_tokens or len(text) < 2:
            yield window
            return
        yield from self._fitting(breadcrumb, text[: len(text) // 2])
        yield from self._fitting(breadcrumb, text[len(text) // 2 :])

    def _trail(self, section: int | None) -> list[str]:
        titles: list[str] = []
        while section is not None:
            titles.insert(0, self._document.sections[section].title)
            section = self._document.sections[section].parent
        return titles

    def _breadcrumb(self, trail: Sequence[str]) -> str:
        """Title and headings; when too long, those in the middle go first, then the front of what is left."""
        parts = list(dict.fromkeys((self._title, *trail)))
        limit = int(self._tokenizer.max_tokens * BREADCRUMB_SHARE)
        while len(parts) > 2 and self._count(" > ".join(parts)) > limit:
            del parts[len(parts) // 2]
        text = " > ".join(parts)
        spans = self._tokenizer.token_spans(text)
        return text if len(spans) <= limit else text[spans[-limit][0] :] if limit else ""

    def _count(self, text: str) -> int:
        return len(self._tokenizer.token_spans(text)) if text else 0


def _merge(pieces: Sequence[_Piece], budget: int) -> Iterator[list[_Piece]]:
    """Neighbours together while they fit; a part of a table stays alone with its lead."""
    group: list[_Piece] = []
    for piece in pieces:
        if group and (piece.lead or group[-1].lead or sum(p.tokens for p in group) + piece.tokens > budget):
            yield group
            group = []
        group.append(piece)
    if group:
        yield group


def _cut(
    text: str, spans: Sequence[tuple[int, int]], budget: int, patterns: Sequence[re.Pattern[str]], *, hard: bool
) -> Iterator[tuple[int, int]]:
    """Spans of at most `budget` tokens that cover `text`, cut at the last match of the earliest pattern that has one.

    Without any match a `hard` cut falls between two tokens; otherwise the span runs on to the next match.
    """
    start, token = 0, 0
    while token + budget < len(spans):
        limit = spans[token + budget][0]
        cut = _last_match(text, start, limit, patterns)
        if cut is None:
            following = patterns[-1].search(text, limit)
            cut = limit if hard else following.end() if following else len(text)
        yield start, start + len(text[start:cut].rstrip())
        start = cut
        while token < len(spans) and spans[token][0] < start:
            token += 1
    if text[start:].strip():
        yield start, len(text)


def _last_match(text: str, start: int, limit: int, patterns: Sequence[re.Pattern[str]]) -> int | None:
    for pattern in patterns:
        ends = [m.end() for m in pattern.finditer(text, start, limit)]
        if usable := [e for e in ends if start < e <= limit and text[start:e].strip()]:
            return usable[-1]
    return None


def _join(*parts: str) -> str:
    return "\n".join(part for part in parts if part)

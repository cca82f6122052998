"""Questions to ranked passages: lexical and dense candidates within the scope of a target, fused."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from kb.catalog import Catalog
from kb.catalog.words import match_expression, query_words
from kb.errors import StoreError
from kb.model.passages import Hit, SearchResult, Status, Why
from kb.model.protocols import Embedder
from retrieval.fusion import Fused, Lists, Scores
from retrieval.packing import merge_repetitions
from retrieval.vectors import VectorIndex

CANDIDATES = 100
"""From each list, for each phrasing."""

COLUMN_WEIGHTS = (1.0, 1.0, 1.0, 0.5, 0.6)
"""Of title, heading path, body, file path, identifiers in BM25; measured on the development questions."""
ROW_WEIGHTS = (1.0, 1.0, 0.6)
"""Of heading path, caption and cells, identifiers, for table rows."""
ROW_SHARE = 0.2
"""Of its best row's score, that a table gets on top of its own."""
ROWS_SHOWN = 3

RowScores = dict[int, dict[int, float]]
"""For each chunk its rows with their best score over the phrasings."""

Fuse = Callable[[Sequence[Lists]], list[Fused]]


@dataclass(frozen=True, slots=True)
class Candidates:
    """What may answer a question, not ranked yet."""

    lists: Sequence[Lists]
    """One pair for each phrasing."""
    rows: RowScores
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Retriever:
    catalog: Catalog
    embedder: Embedder | None
    """None: lexical search alone."""
    indexes: Sequence[VectorIndex]
    """Asked for dense candidates one after the other until one answers. Within targets only the last is: to compare a
    part of all vectors is faster than to filter what an index finds (benchmarks/results/scale.json)."""
    fuse: Fuse

    def search(self, phrasings: Sequence[str], *, targets: Collection[str] | None, limit: int) -> SearchResult:
        """The best `limit` hits for one question, asked in one or several ways.

        Args:
            targets: Names of the targets in scope; None for all. Documents of others take no part.

        Raises:
            CitationError: a stored passage is not what its document holds.
            StoreError: the catalog cannot be read.
        """
        with self.catalog.snapshot():
            return self.rank(self.candidates(phrasings, targets=targets), limit=limit)

    def candidates(self, phrasings: Sequence[str], *, targets: Collection[str] | None) -> Candidates:
        """Lexical and dense candidates; arguments and errors as of `search`."""
        rows: RowScores = {}
        notes: list[str] = []
        lexical = [self._lexical(p, targets, rows) for p in phrasings]
        dense = self._dense(phrasings, targets, notes)
        return Candidates(list(zip(lexical, dense, strict=True)), rows, tuple(notes))

    def rank(self, candidates: Candidates, *, limit: int) -> SearchResult:
        fused = self.fuse(candidates.lists)[: 2 * limit]
        hits = merge_repetitions(self._hits(fused, candidates.rows))[:limit]
        if not hits:
            return SearchResult(status=Status.INSUFFICIENT, hits=(), notes=("nothing in scope shares a word with it",))
        return SearchResult(status=Status.OK, hits=tuple(hits), notes=candidates.notes)

    def _hits(self, fused: Sequence[Fused], rows: RowScores) -> list[Hit]:
        passages = self.catalog.passages([f.chunk for f in fused])
        best = {f.chunk: sorted(own, key=lambda i: -own[i])[:ROWS_SHOWN] for f in fused if (own := rows.get(f.chunk))}
        found = dict(zip(ids := [i for own in best.values() for i in own], self.catalog.rows(ids), strict=True))
        return [
            Hit(
                passage=p,
                score=f.score,
                why=Why(lexical=f.lexical, dense=f.dense, phrasings=f.phrasings),
                rows=tuple(found[i] for i in best.get(f.chunk, ())),
            )
            for p, f in zip(passages, fused, strict=True)
        ]

    def _lexical(self, phrasing: str, targets: Collection[str] | None, rows: RowScores) -> Scores:
        """Chunks with their scores, tables lifted by their best row; the rows' scores are added to `rows`."""
        words = query_words(phrasing)
        if not words:
            return {}
        match = match_expression(words)
        scores = dict(self.catalog.lexical(match, weights=COLUMN_WEIGHTS, targets=targets, limit=CANDIDATES))
        lifts: dict[int, float] = {}
        for chunk, row, score in self.catalog.lexical_rows(
            match, weights=ROW_WEIGHTS, targets=targets, limit=CANDIDATES
        ):
            lifts[chunk] = max(lifts.get(chunk, 0.0), score)
            own = rows.setdefault(chunk, {})
            own[row] = max(own.get(row, 0.0), score)
        return {chunk: scores.get(chunk, 0.0) + ROW_SHARE * lifts.get(chunk, 0.0) for chunk in scores.keys() | lifts}

    def _dense(self, phrasings: Sequence[str], targets: Collection[str] | None, notes: list[str]) -> Sequence[Scores]:
        if self.embedder is None:
            return [{} for _ in phrasings]
        queries = self.embedder.embed_queries(phrasings)
        *others, last = self.indexes if targets is None else self.indexes[-1:]
        for index in others:
            try:
                return index.nearest(queries, targets=targets, limit=CANDIDATES)
            except StoreError as error:
                notes.append(f"every vector was compared, which takes longer: {error.message}")
        return last.nearest(queries, targets=targets, limit=CANDIDATES)

"""Questions to ranked passages: lexical and dense candidates within the scope of a target, fused."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kb.catalog import Catalog
from kb.catalog.words import match_expression, query_words
from kb.errors import StoreError
from kb.model import Hit, SearchResult, Status, Why
from kb.protocols import Embedder, Vectors
from retrieval.fusion import Fused, Scores, fuse
from retrieval.packing import merge_repetitions

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


class VectorIndex(Protocol):
    """Finds near windows faster than a scan; which chunks they belong to is all it says."""

    def nearest(self, queries: Vectors, *, targets: Collection[str] | None, limit: int) -> list[list[int]]:
        """Chunk ids by query, nearest first; a chunk may stand there once for each of its windows."""


@dataclass(frozen=True, slots=True)
class Retriever:
    catalog: Catalog
    embedder: Embedder | None
    """None: lexical search alone."""
    lexical_weight: float
    index: VectorIndex | None = None
    """None: every vector in scope is compared. The answers are the same."""

    def search(self, phrasings: Sequence[str], *, targets: Collection[str] | None, limit: int) -> SearchResult:
        """The best `limit` hits for one question, asked in one or several ways.

        Args:
            targets: Names of the targets in scope; None for all. Documents of others take no part.

        Raises:
            CitationError: a stored passage is not what its document holds.
        """
        with self.catalog.snapshot():
            rows: RowScores = {}
            lexical = [self._lexical(p, targets, rows) for p in phrasings]
            dense = self._dense(phrasings, targets)
            fused = fuse(list(zip(lexical, dense, strict=True)), lexical_weight=self.lexical_weight)
            hits = merge_repetitions(self._hits(fused[: 2 * limit], rows))[:limit]
        if not hits:
            return SearchResult(status=Status.INSUFFICIENT, hits=(), notes=("nothing in scope shares a word with it",))
        return SearchResult(status=Status.OK, hits=tuple(hits))

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

    def _dense(self, phrasings: Sequence[str], targets: Collection[str] | None) -> list[Scores]:
        """For each phrasing the best candidates with their cosine, taken from the catalog's own vectors."""
        if self.embedder is None:
            return [{} for _ in phrasings]
        queries = self.embedder.embed_queries(phrasings)
        chunks = self._nearest(queries, targets)
        ids, matrix = self.catalog.vectors(self.embedder.fingerprint, targets=targets, chunks=chunks)
        return [_best(ids, matrix @ query) if len(ids) else {} for query in queries]

    def _nearest(self, queries: Vectors, targets: Collection[str] | None) -> Collection[int] | None:
        """Chunks that the index finds near; None means all: without an index, and when it fails."""
        if self.index is None:
            return None
        try:
            return {chunk for near in self.index.nearest(queries, targets=targets, limit=CANDIDATES) for chunk in near}
        except StoreError:
            return None


def _best(windows: NDArray[np.int64], cosines: NDArray[np.float32]) -> Scores:
    """The best chunks by their best window. `windows` holds chunk ids in ascending order."""
    chunks, starts = np.unique(windows, return_index=True)
    best = np.maximum.reduceat(cosines, starts)
    order = np.lexsort((chunks, -best))[:CANDIDATES]
    return {int(chunks[i]): float(best[i]) for i in order}

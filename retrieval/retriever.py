"""Rank passages for a question: fuse the lexical and dense candidates within the scope of a target, and rerank them."""

import re
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from kb.catalog import Catalog
from kb.catalog.words import match_expression, query_words
from kb.errors import StoreError
from kb.types.embedding import Embedder
from kb.types.passages import Hit, ScoreParts, SearchResult, Status
from retrieval.fusion import CANDIDATES, Fused, Lists, Scores
from retrieval.names import defining_chunks
from retrieval.packing import merge_repetitions
from retrieval.rerank import RERANKED, WEIGHTS, Features, Ranked, rerank
from retrieval.vectors import VectorIndex

ROW_SHARE = 0.2
"""Share of the best row's score that is added to the score of its table."""
ROWS_SHOWN = 3
_LATIN = re.compile("[A-Za-z0-9]")

RowScores = dict[int, dict[int, float]]
"""Chunk id to row id to the row's best score over the phrasings."""

Fuse = Callable[[Sequence[Lists], Collection[int]], list[Fused]]
"""Ranks the lists; the second argument names the chunks that have no vector yet."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Chunks that may answer a question, before ranking."""

    phrasings: Sequence[str]
    lists: Sequence[Lists]
    """One (lexical, dense) pair for each phrasing."""
    rows: RowScores
    unembedded: frozenset[int]
    """Chunks in scope that have no vector yet."""
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Retriever:
    catalog: Catalog
    embedder: Embedder | None
    """None: search is lexical only."""
    indexes: Sequence[VectorIndex]
    """Tried in order until one gives dense candidates. A search limited to targets or chunks uses only the last one:
    comparing part of the vectors is faster than filtering the results of an index (benchmarks/results/scale.json)."""
    fuse: Fuse
    chunks: Collection[int] | None = None
    """The chunks that may be found; None: all."""
    weights: Features = WEIGHTS

    def search(self, phrasings: Sequence[str], *, targets: Collection[str] | None, limit: int) -> SearchResult:
        """The best `limit` hits for one question in one or several phrasings.

        Args:
            targets: Names of the targets whose documents are searched; None for all.

        Raises:
            CitationError: a stored passage differs from the text of its document.
            StoreError: the catalog cannot be read.
        """
        with self.catalog.snapshot():
            return self.rank(self.candidates(phrasings, targets=targets), limit=limit)

    def candidates(self, phrasings: Sequence[str], *, targets: Collection[str] | None) -> Candidates:
        """Lexical and dense candidates; arguments and errors are those of `search`."""
        rows: RowScores = {}
        notes: list[str] = []
        lexical = [self._first(self._lexical(p, targets, rows)) for p in phrasings]
        dense = [self._first(scores) for scores in self._dense(phrasings, targets, notes)]
        for at, (phrasing, words) in enumerate(zip(phrasings, lexical, strict=True)):
            if words and not _LATIN.search(phrasing):  # a model of English places such words by chance
                dense[at] = {chunk: score for chunk, score in dense[at].items() if chunk in words}
        unembedded = self._unembedded(targets, notes)
        return Candidates(phrasings, list(zip(lexical, dense, strict=True)), rows, unembedded, tuple(notes))

    @property
    def _limit(self) -> int:
        """Length of a list; none if it is filtered afterwards."""
        return CANDIDATES if self.chunks is None else sys.maxsize

    def _first(self, scores: Scores) -> Scores:
        if self.chunks is None:
            return scores
        best = sorted(scores.keys() & self.chunks, key=lambda chunk: (-scores[chunk], chunk))
        return {chunk: scores[chunk] for chunk in best[:CANDIDATES]}

    def rank(self, candidates: Candidates, *, limit: int) -> SearchResult:
        fused = self.fuse(candidates.lists, candidates.unembedded)[: max(2 * limit, RERANKED)]
        found = list(zip(fused, self.catalog.passages([f.chunk for f in fused]), strict=True))
        found = rerank(found, candidates.phrasings, weights=self.weights)[: 2 * limit]
        hits = merge_repetitions(self._hits(found, candidates.rows))[:limit]
        if not hits:
            where = "document in scope" if self.chunks is None else "passage that the search is limited to"
            note = f"no {where} shares a word with the question"
            return SearchResult(status=Status.INSUFFICIENT, hits=(), notes=(note,))
        return SearchResult(status=Status.OK, hits=tuple(hits), notes=candidates.notes)

    def _hits(self, ranked: Sequence[Ranked], rows: RowScores) -> list[Hit]:
        best = {
            f.chunk: sorted(own, key=lambda i: -own[i])[:ROWS_SHOWN] for f, _ in ranked if (own := rows.get(f.chunk))
        }
        found = dict(zip(ids := [i for own in best.values() for i in own], self.catalog.rows(ids), strict=True))
        return [
            Hit(
                passage=p,
                score=f.score,
                why=ScoreParts(lexical=f.lexical, dense=f.dense, phrasings=f.phrasings),
                rows=tuple(found[i] for i in best.get(f.chunk, ())),
            )
            for f, p in ranked
        ]

    def _lexical(self, phrasing: str, targets: Collection[str] | None, rows: RowScores) -> Scores:
        """Scores by chunk, where a table gets a share of its best row's score; adds the rows' scores to `rows`."""
        words = query_words(phrasing)
        if not words:
            return {}
        match = match_expression(words)
        scores = dict(self.catalog.lexical(match, targets=targets, limit=self._limit))
        lifts: dict[int, float] = {}
        for chunk, row, score in self.catalog.lexical_rows(match, targets=targets, limit=self._limit):
            lifts[chunk] = max(lifts.get(chunk, 0.0), score)
            own = rows.setdefault(chunk, {})
            own[row] = max(own.get(row, 0.0), score)
        found = {chunk: scores.get(chunk, 0.0) + ROW_SHARE * lifts.get(chunk, 0.0) for chunk in scores.keys() | lifts}
        best = max(found.values(), default=0.0)
        defined = defining_chunks(self.catalog, phrasing, targets=targets)
        return found | {chunk: found.get(chunk, 0.0) + best for chunk in defined}

    def _dense(self, phrasings: Sequence[str], targets: Collection[str] | None, notes: list[str]) -> Sequence[Scores]:
        if self.embedder is None:
            return [{} for _ in phrasings]
        queries = self.embedder.embed_queries(phrasings)
        everywhere = targets is None and self.chunks is None
        *others, last = self.indexes if everywhere else self.indexes[-1:]
        for index in others:
            try:
                return index.nearest(queries, targets=targets, limit=self._limit)
            except StoreError as error:
                notes.append(f"search compared every vector, which takes longer: {error.message}")
        return last.nearest(queries, targets=targets, limit=self._limit)

    def _unembedded(self, targets: Collection[str] | None, notes: list[str]) -> frozenset[int]:
        if self.embedder is None:
            return frozenset()
        found = self.catalog.unembedded_chunks(self.embedder.fingerprint, targets=targets)
        if found:
            notes.append(
                f"{len(found)} of {self.catalog.count_chunks(targets)} passages have no vector yet, so they are found "
                "by words only; `kb ingest` goes on"
            )
        return found

"""Fuse several rankings into one: a convex combination of z-scores, averaged over the phrasings of a question.

A convex combination beats reciprocal rank fusion in and out of domain and needs only one weight
(Bruch, Gai, Ingber: An Analysis of Fusion Functions for Hybrid Retrieval, 2022).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, inf
from statistics import fmean, pstdev

Scores = Mapping[int, float]
"""Score by chunk id; higher is better."""

Lists = tuple[Scores, Scores]
"""Lexical scores and dense scores for one phrasing."""

CANDIDATES = 100
"""Candidates taken from each list for each phrasing."""


@dataclass(frozen=True, slots=True)
class Fused:
    chunk: int
    score: float
    lexical: float | None
    """Best BM25 score over the phrasings; None if lexical search found the chunk for no phrasing."""
    dense: float | None
    """Best cosine over the phrasings; None likewise."""
    phrasings: int


def fuse(lists: Sequence[Lists], unembedded: Collection[int] = (), *, lexical_weight: float) -> list[Fused]:
    """Rank the union of all lists, best first; ties by chunk id.

    A lexical list with fewer than CANDIDATES chunks has every chunk that shares a word with the phrasing. The dense
    candidates that it lacks have a BM25 score of 0 and count as such, so that a name that occurs only once stands out.

    Args:
        lists: For each phrasing its (lexical, dense) scores.
        unembedded: Chunks without a vector, of which the lexical score alone decides.
        lexical_weight: Share of the lexical z-score, 0 to 1. Where one of the two lists is empty the other decides.
    """
    pool = sorted({chunk for pair in lists for scores in pair for chunk in scores})
    phrasings = [
        (_ZScores.of(lexical, zeros=_unmatched(lexical, dense)), _ZScores.of(dense)) for lexical, dense in lists
    ]
    fused = [
        Fused(
            chunk,
            fsum(
                _combine(chunk, lexical, dense, 1 if chunk in unembedded else lexical_weight)
                for lexical, dense in phrasings
            )
            / len(phrasings),
            max((lexical[chunk] for lexical, _ in lists if chunk in lexical), default=None),
            max((dense[chunk] for _, dense in lists if chunk in dense), default=None),
            sum(chunk in lexical or chunk in dense for lexical, dense in lists),
        )
        for chunk in pool
    ]
    return sorted(fused, key=lambda f: (-f.score, f.chunk))


def _unmatched(lexical: Scores, dense: Scores) -> int:
    """Number of dense candidates known to share no word with the phrasing."""
    return len(dense.keys() - lexical.keys()) if len(lexical) < CANDIDATES else 0


@dataclass(frozen=True, slots=True)
class _ZScores:
    scores: Scores
    lowest: float
    """Counts for each chunk that the list lacks."""

    @classmethod
    def of(cls, scores: Scores, *, zeros: int = 0) -> "_ZScores":
        """Compute the z-scores of `scores`, as if the list had `zeros` more chunks with a score of 0."""
        values = [*scores.values(), *[0.0] * (zeros if scores else 0)]
        if not values:
            return cls({}, 0.0)
        mean, spread = fmean(values), pstdev(values) or inf
        return cls({chunk: (score - mean) / spread for chunk, score in scores.items()}, (min(values) - mean) / spread)

    def __getitem__(self, chunk: int) -> float:
        return self.scores.get(chunk, self.lowest)


def _combine(chunk: int, lexical: _ZScores, dense: _ZScores, lexical_weight: float) -> float:
    if not lexical.scores or not dense.scores:
        return (lexical if lexical.scores else dense)[chunk]
    return lexical_weight * lexical[chunk] + (1 - lexical_weight) * dense[chunk]

"""Fuse several rankings into one: a convex combination of z-scores, averaged over the phrasings of a question.

A convex combination beats reciprocal rank fusion in and out of domain and needs only one weight
(Bruch, Gai, Ingber: An Analysis of Fusion Functions for Hybrid Retrieval, 2022).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import fmean, pstdev

Scores = Mapping[int, float]
"""Score by chunk id; higher is better."""

Lists = tuple[Scores, Scores]
"""Lexical scores and dense scores for one phrasing."""


@dataclass(frozen=True, slots=True)
class Fused:
    chunk: int
    score: float
    lexical: float | None
    """Best lexical z-score over the phrasings; None if lexical search found the chunk for no phrasing."""
    dense: float | None
    phrasings: int


def fuse(lists: Sequence[Lists], unembedded: Collection[int] = (), *, lexical_weight: float) -> list[Fused]:
    """Rank the union of all lists, best first; ties by chunk id.

    Args:
        lists: For each phrasing its (lexical, dense) scores.
        unembedded: Chunks without a vector, of which the lexical score alone decides.
        lexical_weight: Share of the lexical z-score, 0 to 1. Where one of the two lists is empty the other decides.
    """
    pool = sorted({chunk for pair in lists for scores in pair for chunk in scores})
    phrasings = [(_z_scores(lexical), _z_scores(dense)) for lexical, dense in lists]
    fused = []
    for chunk in pool:
        weight = 1 if chunk in unembedded else lexical_weight
        parts = [_combine(chunk, lexical, dense, weight) for lexical, dense in phrasings]
        found = [(lexical.get(chunk), dense.get(chunk)) for lexical, dense in phrasings]
        fused.append(
            Fused(
                chunk,
                fsum(parts) / len(parts),
                max((z for z, _ in found if z is not None), default=None),
                max((z for _, z in found if z is not None), default=None),
                sum(pair != (None, None) for pair in found),
            )
        )
    return sorted(fused, key=lambda f: (-f.score, f.chunk))


def _combine(chunk: int, lexical: Scores, dense: Scores, lexical_weight: float) -> float:
    if not lexical or not dense:
        only = lexical or dense
        return _score(chunk, only) if only else 0.0
    return lexical_weight * _score(chunk, lexical) + (1 - lexical_weight) * _score(chunk, dense)


def _score(chunk: int, z_scores: Scores) -> float:
    """The chunk's score in the list; a chunk that the list lacks gets the list's lowest score."""
    score = z_scores.get(chunk)
    return min(z_scores.values()) if score is None else score


def _z_scores(scores: Scores) -> dict[int, float]:
    if not scores:
        return {}
    mean, spread = fmean(scores.values()), pstdev(scores.values())
    return {chunk: (score - mean) / spread if spread else 0.0 for chunk, score in scores.items()}

"""Rank the first candidates again by how much of the question their texts say, as a whole and in one line.

The score of a passage is a weighted sum of a few features. The weights are fitted so that the passages that answer are
likely among the candidates.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import NamedTuple

from kb.catalog.words import query_words
from kb.types.passages import Passage
from retrieval.fusion import Fused
from retrieval.names import asked_name
from retrieval.terms import weights_of

RERANKED = 50
"""Candidates that are ranked again, the best ones after fusion; the others keep their order behind them."""

Ranked = tuple[Fused, Passage]


class Features(NamedTuple):
    """What speaks for a passage, or the weight of it. Shares are of the weight of the question's words, 0 to 1."""

    fused: float
    """Score after fusion."""
    cosine: float
    first_by_words: float
    """1 / (5 + rank by words)."""
    listing: float
    """1 if it is code."""
    said: float
    """Share that the passage says, with its headings and path."""
    in_line: float
    """Share that its best line or sentence says, with its headings and path."""
    with_number: float
    """The same of its best line with a digit."""


WEIGHTS = Features(0.25, 3.02, 4.54, -0.93, 2.23, 0.56, 0.91)
"""Fitted by benchmarks/ranking_weights.py (benchmarks/results/ranking-weights.json). A score is the logarithm of odds,
divided by 2.5: so scores are as far apart as those of fusion."""
BY_FUSION = Features(1, 0, 0, 0, 0, 0, 0)


def rerank(found: Sequence[Ranked], phrasings: Sequence[str], *, weights: Features = WEIGHTS) -> list[Ranked]:
    """The candidates with new scores, best first; ties by chunk id.

    A question that is only a name keeps fusion's order, in which the name's definition is first.

    Args:
        found: Best first, after fusion.
    """
    if all(map(asked_name, phrasings)):
        return list(found)
    first, others = found[:RERANKED], found[RERANKED:]
    scored = [
        (replace(fused, score=sum(w * x for w, x in zip(weights, own, strict=True))), passage)
        for (fused, passage), own in zip(first, features(first, phrasings), strict=True)
    ]
    scored.sort(key=lambda pair: (-pair[0].score, pair[0].chunk))
    if not others:
        return scored
    shift = scored[-1][0].score - first[-1][0].score
    return [*scored, *((replace(fused, score=fused.score + shift), passage) for fused, passage in others)]


def features(found: Sequence[Ranked], phrasings: Sequence[str]) -> list[Features]:
    """The features of each candidate; those of its words are means over the phrasings."""
    texts = [_Text.of(passage) for _, passage in found]
    shares = zip(*(_shares(texts, phrasing) for phrasing in phrasings), strict=True)
    by_words = sorted((-fused.lexical, fused.chunk) for fused, _ in found if fused.lexical is not None)
    ranks = {chunk: rank for rank, (_, chunk) in enumerate(by_words, 1)}
    lowest = min((fused.dense for fused, _ in found if fused.dense is not None), default=0.0)
    return [
        Features(
            fused.score,
            lowest if fused.dense is None else fused.dense,
            1 / (5 + ranks.get(fused.chunk, 2 * RERANKED)),
            float(passage.kind == "code"),
            *(fmean(each) for each in zip(*own, strict=True)),
        )
        for (fused, passage), own in zip(found, shares, strict=True)
    ]


class _Text(NamedTuple):
    """A passage in small letters."""

    above: str
    """Path, title and headings."""
    body: str
    joined: str
    """All of it without separators, in which an identifier is found however it is spelt."""
    lines: Sequence[str]

    @classmethod
    def of(cls, passage: Passage) -> "_Text":
        above, body = f"{passage.citation.path}\n{passage.trail}".lower(), passage.body.lower()
        joined = f"{above}\n{body}".translate(_SEPARATORS)
        return cls(above, body, joined, body.replace(". ", ".\n").split("\n"))

    def says(self, word: str, stem: str) -> bool:
        return stem in self.body or stem in self.above or (len(word) > 4 and word in self.joined)


_SEPARATORS = {ord(sign): None for sign in " \n\t_.:-/`*|,;()[]{}<>=\"'#&+"}
_DIGIT = re.compile(r"\d")


def _shares(texts: Sequence[_Text], phrasing: str) -> list[tuple[float, float, float]]:
    """For each text `said`, `in_line` and `with_number`. A word weighs the more, the fewer of the texts have it."""
    stems = {word: word[: max(4, len(word) - 3)] for word in query_words(phrasing)}  # other endings do not matter
    said = [[word for word, stem in stems.items() if text.says(word, stem)] for text in texts]
    weights = weights_of(stems, said)
    found = []
    for text, own in zip(texts, said, strict=True):
        above = sum(weights[word] for word in own if stems[word] in text.above)
        telling = [(stems[word], weights[word]) for word in own if stems[word] not in text.above]
        lines = [above + sum(weight for stem, weight in telling if stem in line) for line in text.lines]
        numbers = (share for share, line in zip(lines, text.lines, strict=True) if _DIGIT.search(line))
        found.append((sum(weights[word] for word in own), max(lines), max(numbers, default=0.0)))
    return found

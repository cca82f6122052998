"""Whole passages into a token budget, each bringing something new."""

import re
from collections.abc import Sequence

from kb.model import Citation, Context, Hit, Passage, SearchResult

NEAR_DUPLICATE = 0.6
"""Share of common words (Jaccard) above which a passage is a repetition, unless it brings a new number."""

_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def pack(result: SearchResult, *, budget_tokens: int) -> Context:
    """The best hits that fit, in rank order; what did not fit or says nothing new is listed as left out."""
    taken: list[Passage] = []
    left_out: list[Citation] = []
    tokens = 0
    for passage in (hit.passage for hit in result.hits):
        if tokens + passage.tokens > budget_tokens or _repeats(passage, taken):
            left_out.append(passage.citation)
            continue
        taken.append(passage)
        tokens += passage.tokens
    return Context(
        status=result.status,
        passages=tuple(taken),
        left_out=tuple(left_out),
        tokens=tokens,
        budget_tokens=budget_tokens,
        notes=result.notes,
    )


def without_repetitions(hits: Sequence[Hit]) -> list[Hit]:
    """The hits less those that repeat a better one of the same target without a new number."""
    kept: list[Hit] = []
    for hit in hits:
        if not _repeats(hit.passage, [k.passage for k in kept]):
            kept.append(hit)
    return kept


def _repeats(passage: Passage, others: Sequence[Passage]) -> bool:
    """Two chips' near-identical rows with different numbers are the most valuable facts: both must live."""
    words, numbers = set(_WORD.findall(passage.text.lower())), set(_NUMBER.findall(passage.text))
    for other in others:
        theirs = set(_WORD.findall(other.text.lower()))
        alike = len(words & theirs) > NEAR_DUPLICATE * len(words | theirs)
        if alike and other.target == passage.target and numbers <= set(_NUMBER.findall(other.text)):
            return True
    return False

"""Hits without repetitions, and whole passages into a token budget."""

import re
from collections.abc import Sequence

from kb.model import Context, Hit, Passage, SearchResult

NEAR_DUPLICATE = 0.6
"""Share of common words (Jaccard) above which a passage is a repetition, unless it brings a new number."""

_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def merge_repetitions(hits: Sequence[Hit]) -> list[Hit]:
    """The hits in order, each repetition of a better one folded into that one's `also_in`.

    Two chips' near-identical rows with different numbers are the most valuable facts: a passage of another target, or
    with a number that the better one lacks, is no repetition.
    """
    kept: list[tuple[Hit, frozenset[str], frozenset[str]]] = []
    for hit in hits:
        words = frozenset(_WORD.findall(hit.passage.text.lower()))
        numbers = frozenset(_NUMBER.findall(hit.passage.text))
        for index, (better, their_words, their_numbers) in enumerate(kept):
            alike = len(words & their_words) > NEAR_DUPLICATE * len(words | their_words)
            if alike and numbers <= their_numbers and hit.passage.target == better.passage.target:
                merged = better.model_copy(update={"also_in": (*better.also_in, hit.passage.citation)})
                kept[index] = (merged, their_words, their_numbers)
                break
        else:
            kept.append((hit, words, numbers))
    return [hit for hit, _, _ in kept]


def pack(result: SearchResult, *, budget_tokens: int) -> Context:
    """The best passages that fit, whole and in rank order; those that do not fit are listed as left out."""
    taken: list[Passage] = []
    left_out: list[Passage] = []
    tokens = 0
    for passage in (hit.passage for hit in result.hits):
        fits = tokens + passage.tokens <= budget_tokens
        (taken if fits else left_out).append(passage)
        tokens += passage.tokens if fits else 0
    return Context(
        status=result.status,
        passages=tuple(taken),
        left_out=tuple(passage.citation for passage in left_out),
        tokens=tokens,
        budget_tokens=budget_tokens,
        notes=result.notes,
    )

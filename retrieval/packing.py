"""Merge repeated hits, and pack whole passages into a token budget."""

import re
from collections.abc import Sequence

from kb.model.base import tokens_of
from kb.model.passages import Context, Hit, Passage, SearchResult

NEAR_DUPLICATE = 0.6
"""Jaccard similarity of the words above which a passage is a repetition, unless it has a new number or name."""

_WORD = re.compile(r"\w+")
_TELLING = re.compile(r"\d+\.\d+|\w*[\d_]\w*")
"""Numbers and identifiers, which tell one table row from the next."""


def merge_repetitions(hits: Sequence[Hit]) -> list[Hit]:
    """The hits in order; each repetition becomes an `also_in` citation of the better hit.

    A passage of another target, or with a number or name that the better hit lacks, is not a repetition: the most
    valuable facts are near-identical rows for two chips with different numbers.
    """
    kept: list[tuple[Hit, frozenset[str], frozenset[str]]] = []
    for hit in hits:
        words = frozenset(_WORD.findall(hit.passage.text.lower()))
        telling = frozenset(_TELLING.findall(hit.passage.text))
        for index, (better, their_words, their_telling) in enumerate(kept):
            same_target = hit.passage.target == better.passage.target
            if same_target and telling <= their_telling and _alike(words, their_words):
                merged = better.model_copy(update={"also_in": (*better.also_in, hit.passage.citation)})
                kept[index] = (merged, their_words, their_telling)
                break
        else:
            kept.append((hit, words, telling))
    return [hit for hit, _, _ in kept]


def _alike(words: frozenset[str], others: frozenset[str]) -> bool:
    few, many = sorted((len(words), len(others)))
    if few <= NEAR_DUPLICATE * many:
        return False
    common = len(words & others)
    return common > NEAR_DUPLICATE * (few + many - common)


def pack(result: SearchResult, *, budget_tokens: int) -> Context:
    """Take whole passages in rank order as long as they fit; list the others as left out."""
    taken: list[Passage] = []
    left_out: list[Passage] = []
    tokens = 0
    for passage in (hit.passage for hit in result.hits):
        size = tokens_of(f"{passage.cited}\n\n")
        fits = tokens + size <= budget_tokens
        (taken if fits else left_out).append(passage)
        tokens += size if fits else 0
    return Context(
        status=result.status,
        passages=tuple(taken),
        left_out=tuple(passage.citation for passage in left_out),
        tokens=tokens,
        budget_tokens=budget_tokens,
        notes=result.notes,
    )

"""Merge repeated hits, and pack whole passages into a token budget."""

import re
from collections.abc import Sequence

from kb.model.base import tokens_of
from kb.model.passages import Context, Hit, Passage, SearchResult

_SAID = re.compile(r"\w+(?:\.\d+)*|[<>≤≥≠]|[!=]=|[-−+±](?=\.?\d)|(?<=\w) ?[+/%&^] ?(?=\w)")
"""The words, numbers and operators of a text, without its markup and punctuation."""
_SAY_NOTHING = frozenset(("a", "an", "the", "is", "are", "was", "were", "be", "been"))
"""Words with which two editions of a sentence may differ and still say the same."""


def merge_repetitions(hits: Sequence[Hit]) -> list[Hit]:
    """The hits in order; each repetition becomes an `also_in` citation of the better hit.

    Two passages of one target say the same if they have the same words in the same order, up to articles and forms of
    `be`. A likeness of most words does not suffice: `raises a fault` and `raises no fault` share nearly all.
    """
    kept: dict[tuple[str, ...], Hit] = {}
    for hit in hits:
        said = (hit.passage.target, *_said(hit.passage.text))
        if better := kept.get(said):
            also_in = (*better.also_in, hit.passage.citation, *hit.also_in)
            hit = better.model_copy(update={"also_in": tuple(c for c in also_in if c != better.passage.citation)})
        kept[said] = hit
    return list(kept.values())


def _said(text: str) -> list[str]:
    words = (_spelt(word.strip()) for word in _SAID.findall(text))
    return [word for word in words if word not in _SAY_NOTHING]


def _spelt(word: str) -> str:
    """The word in lower case, unless its capitals may say something: `GBps` is not `Gbps`."""
    return word.lower() if word[1:].islower() or (word.isupper() and len(word) > 3) else word


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

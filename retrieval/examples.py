"""Chooses a whole example of code among passages: one that is relevant, in the names that other code uses too."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from math import fsum, log

from kb.catalog import Catalog
from kb.types.passages import Passage
from retrieval.listings import code_in

EXAMPLE_TOKENS = 1300
"""Size of the part of one document that shows a whole example, in tokens."""
FOLLOWING = 6
"""Most passages of an example after the first."""
SMOOTHING = 5
"""Added to a rank, counted from 0, before it divides: the first of a ranking counts twice as much as the sixth."""

_NAME = re.compile(r"[A-Za-z_][\w.]*\w")

Phrasings = tuple[str, ...]
"""Of one question."""


def choose_example(
    catalog: Catalog, asked: Iterable[Phrasings], found: Mapping[Phrasings, Sequence[Passage]]
) -> list[Passage]:
    """The best code among the answers to `asked`, and what follows it in its document, up to `EXAMPLE_TOKENS`.

    The code of a document, or of a passage in it, is the better the higher it is in the rankings and the more names it
    has that the code of other documents has too: these are what kernels of the chip are written with.

    Args:
        found: The answers to `asked` and to other questions, each ranked.
    """
    code = {p: set(_NAME.findall(code_in(p.text, p.kind))) for answers in found.values() for p in answers}
    users: defaultdict[str, set[str]] = defaultdict(set)
    for passage, names in code.items():
        for name in names:
            users[name].add(passage.citation.path)

    questions = list(asked)

    def worth(passages: Sequence[Passage]) -> float:
        names = {name for passage in passages for name in code[passage]}
        ranks = [next((r for r, p in enumerate(found[question]) if p in passages), None) for question in questions]
        relevance = sum(1 / (SMOOTHING + rank) for rank in ranks if rank is not None)
        return relevance * fsum(log(len(users[name])) for name in names)

    documents: defaultdict[str, list[Passage]] = defaultdict(list)
    for passage in dict.fromkeys(p for question in questions for p in found[question] if code[p]):
        documents[passage.citation.path].append(passage)
    best = max(documents.values(), key=worth, default=[])
    return _with_following(catalog, max(best, key=lambda passage: worth([passage]))) if best else []


def _with_following(catalog: Catalog, passage: Passage) -> list[Passage]:
    """The passage and those after it, up to `EXAMPLE_TOKENS`."""
    _, after = catalog.neighbours(passage.citation.id, reach=FOLLOWING)
    part = (passage, *catalog.passages(after))
    totals = accumulate(p.tokens for p in part)
    return [p for p, total in zip(part, totals, strict=True) if total <= EXAMPLE_TOKENS]

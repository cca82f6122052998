"""Orders passages by what is in force: an erratum comes before what it corrects, and what is set aside comes last."""

import re
from collections.abc import Sequence

from kb.types.edition import force
from kb.types.passages import Hit, Passage

QUOTED_WORDS = 8
"""Words in a row that an erratum has in common with the passage that it corrects."""

_WORD = re.compile(r"\w+")


def in_force_first(hits: Sequence[Hit], *, limit: int) -> list[Hit]:
    """The first `limit` hits, of which those that are set aside count last, with errata before what they correct."""
    ordered: list[Hit] = []
    for hit in sorted(hits, key=lambda hit: is_set_aside(hit.passage))[:limit]:
        corrected = (i for i, other in enumerate(ordered) if _corrects(hit.passage, other.passage))
        ordered.insert(next(corrected, len(ordered)), hit)
    return ordered


def is_set_aside(passage: Passage) -> bool:
    return _force(passage) < 0


def _corrects(passage: Passage, other: Passage) -> bool:
    """Whether `passage` is of errata and quotes `other`, which is not."""
    return _force(passage) > 0 == _force(other) and bool(_runs(passage.text) & _runs(other.text))


def _force(passage: Passage) -> int:
    return force(passage.citation.path, passage.title, passage.trust)


def _runs(text: str) -> set[tuple[str, ...]]:
    """All runs of `QUOTED_WORDS` words."""
    words = _WORD.findall(text.lower())
    return set(zip(*(words[start:] for start in range(QUOTED_WORDS)), strict=False))

"""Orders hits: an erratum before what it corrects, drafts and archives last, and what is about siblings never first."""

import re
from collections.abc import Sequence

from kb.types.edition import document_precedence
from kb.types.passages import Hit, Passage

QUOTED_WORDS = 8
"""Words in a row that an erratum has in common with the passage that it corrects."""

_WORD = re.compile(r"\w+")


def by_precedence(hits: Sequence[Hit], *, limit: int) -> list[Hit]:
    """The first `limit` hits, of which those that are set aside count last, with errata before what they correct.

    What is only about siblings of the target does not come first, if there is anything else.
    """
    ordered: list[Hit] = []
    for hit in sorted(hits, key=lambda hit: is_set_aside(hit.passage))[:limit]:
        quoted = _runs(hit.passage.text) if _precedence(hit.passage) > 0 else set()
        plain = (i for i, other in enumerate(ordered) if quoted and not _precedence(other.passage))
        corrected = (i for i in plain if quoted & _runs(ordered[i].passage.text))
        ordered.insert(next(corrected, len(ordered)), hit)
    own = next((i for i, hit in enumerate(ordered) if not hit.passage.about), 0)
    return [*ordered[own : own + 1], *ordered[:own], *ordered[own + 1 :]]


def is_set_aside(passage: Passage) -> bool:
    """Whether its document is a draft, an archive or the like."""
    return _precedence(passage) < 0


def _precedence(passage: Passage) -> int:
    return document_precedence(passage.citation.path, passage.title, passage.trust)


def _runs(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(text.lower())
    return set(zip(*(words[start:] for start in range(QUOTED_WORDS)), strict=False))

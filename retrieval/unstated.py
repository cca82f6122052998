"""A question that asks for a number in a unit, and passages that state none: a hint that the documents do not say.

On 208 questions it was given for 3 of the 5 that name a unit and cannot be answered, and for 4 of the 21 that name one
and can: not enough to refuse.
"""

import re
from collections.abc import Sequence

from kb.model.passages import Hit

LOOKED_AT = 10
"""Hits."""

_UNIT = re.compile(
    r"\b(?:[KMGTP]i?(?:B|b)(?:/s|ps)?|[KMGTP]?(?:FLOPS?|OPS)(?:/s)?|[KMG]Hz|cycles?|bytes?|bits?|watts?|[num]s)\b"
)


def unstated_unit(question: str, hits: Sequence[Hit]) -> str | None:
    """The unit that `question` names and in which none of the first hits states a number; None when there is none."""
    unit = _UNIT.search(question)
    if unit is None:
        return None
    stated = re.compile(rf"\d[\d.,]*[\s-]*{re.escape(unit.group().rstrip('s'))}s?\b", re.IGNORECASE)
    return None if any(stated.search(hit.passage.shown) for hit in hits[:LOOKED_AT]) else unit.group()

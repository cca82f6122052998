"""Detect a question that names a unit in which no found passage states a number: the documents may have no answer.

Of 208 questions, the hint appeared for 3 of the 5 unanswerable ones that name a unit, and for 4 of the 21 answerable
ones: not reliable enough to refuse an answer.
"""

import re
from collections.abc import Sequence

from kb.model.passages import Hit

LOOKED_AT = 10
"""Number of hits examined."""

_UNIT = re.compile(
    r"\b(?:[KMGTP]i?(?:B|b)(?:/s|ps)?|[KMGTP]?(?:FLOPS?|OPS)(?:/s)?|[KMG]Hz|cycles?|bytes?|bits?|watts?|[num]s)\b"
)


def unstated_unit(question: str, hits: Sequence[Hit]) -> str | None:
    """The unit in `question`, if none of the first hits states a number in it; otherwise None."""
    unit = _UNIT.search(question)
    if unit is None:
        return None
    stated = re.compile(rf"\d[\d.,]*[\s-]*{re.escape(unit.group().rstrip('s'))}s?\b", re.IGNORECASE)
    return None if any(stated.search(hit.passage.shown) for hit in hits[:LOOKED_AT]) else unit.group()

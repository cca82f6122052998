"""Finds other names of a target in the titles of its documents, for the user to decide on."""

import re
from collections import Counter
from collections.abc import Iterable

from ingest.target_of_path import is_ordinary
from kb.targets import Targets
from kb.types.documents import OfferedAlias

OFFERED = 3
"""Most aliases to offer for one target."""

_WORD = re.compile(r"[A-Za-z0-9][\w-]*")
_PRODUCT = re.compile(r"(?=.*[A-Za-z])(?=.*\d{2})[\w-]{4,}")
"""A word with letters and a number, as products are named; `v2` and `C11` are too short."""


def offered_aliases(targets: Targets, target: str, titles: Iterable[str]) -> list[OfferedAlias]:
    """Names that no target has: of products, and of `Maker Target` with a capital.

    A name is offered if at least half of the titles that hold such a name have it, and two have it or there is only one
    document.
    """
    found = [set(_names(title, target, targets)) for title in titles]
    telling = [names for names in found if names]
    counts = Counter(name for names in telling for name in names if targets.find(name) is None)
    return [
        OfferedAlias(target=target, alias=name, titles=count)
        for name, count in counts.most_common(OFFERED)
        if 2 * count >= len(telling) and count >= min(2, len(found))
    ]


def _names(title: str, target: str, targets: Targets) -> Iterable[str]:
    words = _WORD.findall(title)
    for before, word in zip(["", *words], words, strict=False):
        if _PRODUCT.fullmatch(word):
            yield word.lower()
        if targets.name_of(word) == target and before[:1].isupper() and not is_ordinary(before):
            yield f"{before} {word}".lower()

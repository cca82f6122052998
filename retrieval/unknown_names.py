"""Find the names in a question that no document in scope contains: a sign that the documents have no answer.

Scores separate answerable from unanswerable questions badly (AUC .65 to .77 on 208 questions). Vocabulary does better:
none of the 195 answerable questions names an identifier or acronym that its documents lack.
"""

import re
from collections.abc import Collection

from kb.catalog import Catalog
from kb.catalog.words import IDENTIFIER, is_identifier
from kb.errors import nearest

ALIKE = 0.75
"""Minimum similarity (difflib's ratio) of a suggested name."""

SAME_LETTERS = 2
"""Number of leading letters that a suggested name must share."""

LOOKED_INTO = 20
"""Number of passages in which a word is sought before all documents are read."""

_UNIT = re.compile(r"\d*[KMGTP]?i?(?:B|b|bits?|bytes?|Hz|FLOPS?|OPS?)(?:ps)?|[num]s|W", re.IGNORECASE)
_PROPER = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b(?! [A-Z])")
"""A capitalised word in the middle of a sentence; next to another one it may be part of a title."""
_COUNTED = re.compile(r"\d+(?:x\d+)+|\d+-?[A-Za-z]+", re.IGNORECASE)
"""Shapes (`128x256`) and counts (`32-bit`, `2D`) are values, not names."""


def unknown_names(catalog: Catalog, question: str, *, targets: Collection[str]) -> list[str]:
    """Identifiers, acronyms and proper names of `question`, in order, that occur in no document of `targets`."""
    return [name for name in _names(question) if not _is_known(catalog, name, targets)]


def nearest_names(catalog: Catalog, name: str, *, targets: Collection[str]) -> list[str]:
    """Names in the documents of `targets` with a similar spelling to `name`, nearest first."""
    alike = catalog.names(name[:SAME_LETTERS], targets=targets)
    spelt = {known.lower(): known for known in sorted(alike) if abs(len(known) - len(name)) <= len(name) / 3}
    return nearest(name.lower(), spelt, cutoff=ALIKE)


def _names(question: str) -> list[str]:
    words = [word for match in IDENTIFIER.finditer(question) for word in _unhyphenated(match.group())]
    proper = set(_PROPER.findall(question))
    names = (w for w in dict.fromkeys(words) if is_identifier(w) or w in proper)
    return [name for name in names if not (_UNIT.fullmatch(name) or _COUNTED.fullmatch(name))]


def _unhyphenated(word: str) -> list[str]:
    """Split plain words at hyphens (`half-height`); next to a digit a hyphen is part of the name (`MI-300X`)."""
    return [word] if re.search(r"[_.:\d]", word) else word.split("-")


def _is_known(catalog: Catalog, name: str, targets: Collection[str]) -> bool:
    """Whether the documents have `name`, as written or joined into one word.

    An identifier may also be the beginning of a longer word, and a dotted one may occur without its prefix.
    """
    parts = re.findall(r"[A-Za-z0-9]+", name)
    stemmed = catalog.texts_with([" ".join(parts), "".join(parts)], targets=targets, limit=LOOKED_INTO)
    if name.isalpha():
        # The lexical index holds stems: it would take LDS for the instruction `ld`.
        acronym = _singular(name)
        word = re.compile(rf"(?<![A-Za-z0-9]){acronym}(?![A-Za-z0-9])", re.IGNORECASE)
        return any(map(word.search, stemmed)) or (bool(stemmed) and catalog.holds(acronym, targets=targets, whole=True))
    if stemmed or catalog.holds(name, targets=targets, whole=False):
        return True
    _, _, last = name.rpartition(".")
    return last != name and is_identifier(last) and _is_known(catalog, last, targets)


def _singular(acronym: str) -> str:
    return acronym[:-1] if acronym.endswith("s") and acronym[:-1].isupper() else acronym

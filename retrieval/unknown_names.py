"""Names in a question that no document in scope knows: the sign that the manuals do not say.

Scores do not tell an answerable question from another (AUC .65 to .77 on 208 questions); vocabulary does: of questions
that can be answered, 0 of 195 name an identifier or acronym that their documents lack.
"""

import re
from collections.abc import Collection

from kb.catalog import Catalog
from kb.catalog.words import is_identifier
from kb.errors import nearest

ALIKE = 0.75
"""Least similarity (difflib's ratio) of a known name that is suggested."""

SAME_LETTERS = 2
"""At the beginning of a suggested name."""

LOOKED_INTO = 20
"""Passages in which a word is looked for before all of them are."""

_WORD = re.compile(r"[A-Za-z0-9]+(?:[_.:\-][A-Za-z0-9]+)*")
_UNIT = re.compile(r"\d*[KMGTP]?i?(?:B|b|bits?|bytes?|Hz|FLOPS?|OPS?)(?:ps)?|[num]s|W", re.IGNORECASE)
_COUNTED = re.compile(r"\d+(?:x\d+)+|\d+-?[A-Za-z]+", re.IGNORECASE)
"""Shapes (`128x256`) and numbers with what they count (`32-bit`, `2D`): values vary, names do not."""


def unknown_names(catalog: Catalog, question: str, *, targets: Collection[str]) -> list[str]:
    """The identifiers and acronyms of `question` that stand nowhere in the documents of `targets`, in order."""
    return [name for name in _names(question) if not _is_known(catalog, name, targets)]


def nearest_names(catalog: Catalog, name: str, *, targets: Collection[str]) -> list[str]:
    """Names in the documents of `targets` that are spelt like `name`, nearest first."""
    alike = catalog.names(name[:SAME_LETTERS], targets=targets)
    spelt = {known.lower(): known for known in sorted(alike) if abs(len(known) - len(name)) <= len(name) / 3}
    return nearest(name.lower(), spelt, cutoff=ALIKE)


def _names(question: str) -> list[str]:
    words = [word for match in _WORD.finditer(question) for word in _unhyphenated(match.group())]
    return [w for w in dict.fromkeys(words) if is_identifier(w) and not (_UNIT.fullmatch(w) or _COUNTED.fullmatch(w))]


def _unhyphenated(word: str) -> list[str]:
    """A hyphen joins plain words (`half-height`); with a digit it is part of a name (`MI-300X`)."""
    return [word] if re.search(r"[_.:\d]", word) else word.split("-")


def _is_known(catalog: Catalog, name: str, targets: Collection[str]) -> bool:
    """Whole or joined as one word; an identifier also as the beginning of one, a dotted one also without its prefix."""
    parts = re.findall(r"[A-Za-z0-9]+", name)
    stemmed = catalog.texts_with([" ".join(parts), "".join(parts)], targets=targets, limit=LOOKED_INTO)
    if name.isalpha():
        # The lexical index knows stems: LDS would be the instruction `ld`.
        acronym = _singular(name)
        word = re.compile(rf"(?<![A-Za-z0-9]){acronym}(?![A-Za-z0-9])", re.IGNORECASE)
        return any(map(word.search, stemmed)) or (bool(stemmed) and catalog.holds(acronym, targets=targets, whole=True))
    if stemmed or catalog.holds(name, targets=targets, whole=False):
        return True
    _, _, last = name.rpartition(".")
    return last != name and is_identifier(last) and _is_known(catalog, last, targets)


def _singular(acronym: str) -> str:
    return acronym[:-1] if acronym.endswith("s") and acronym[:-1].isupper() else acronym

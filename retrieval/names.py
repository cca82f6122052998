"""Names in the documents: the passages that define one, and names that are spelt alike."""

import re
from collections.abc import Collection

from kb.catalog import Catalog
from kb.catalog.words import query_words
from kb.errors import nearest

MOST_PASSAGES = 40
"""A name in the headings of more passages is a topic, not something that one section defines."""

ALIKE = 0.75
"""Minimum similarity (difflib's ratio) of a suggested name."""
SAME_LETTERS = 2
"""Number of leading letters that a suggested name must share."""

_NAME = re.compile(r"\w+(?:[.:\-]\w+)*")


def defining_chunks(catalog: Catalog, question: str, *, targets: Collection[str] | None) -> list[int]:
    """Chunks with the name that `question` asks for in title, headings or file name, or else in their text.

    Empty if the name is not in a few passages only, or if the question asks for more than a name: the passage that has
    its other words answers it better. Lifting definitions for such questions too cost 1 to 4 points of hit@5 on 78
    questions.
    """
    name = asked_name(question)
    if name is None:
        return []
    whole = re.compile(rf"(?<![\w.]){re.escape(name)}(?:(?!\w|\.\w)|(?=\.\w+\Z))", re.IGNORECASE)  # \Z: a path's suffix
    for columns in (("title", "heading", "path"), ("body",)):
        found = catalog.passages_with(name, columns=columns, targets=targets, limit=MOST_PASSAGES + 1)
        if chunks := [chunk for chunk, text in found if whole.search(text)]:
            return chunks if len(found) <= MOST_PASSAGES else []
    return []


def asked_name(question: str) -> str | None:
    """The only name or word of `question`, not counting stop words; None if there are others."""
    words = query_words(question)
    names = _NAME.findall(question)
    return next((name for name in names if words == query_words(name)), None) if words else None


def nearest_names(catalog: Catalog, name: str, *, targets: Collection[str]) -> list[str]:
    """Names in the documents of `targets` with a similar spelling to `name`, nearest first."""
    alike = catalog.names(name[:SAME_LETTERS], targets=targets)
    spelt = {known.lower(): known for known in sorted(alike) if abs(len(known) - len(name)) <= len(name) / 3}
    return nearest(name.lower(), spelt, cutoff=ALIKE)

"""Find the passages of a name, for a question that is nothing but a name.

A question with more words than the name is better answered by the passage that has those words: lifting definitions for
such questions too cost 1 to 4 points of hit@5 on 78 questions.
"""

import re
from collections.abc import Collection

from kb.catalog import Catalog
from kb.catalog.words import query_words

MOST_PASSAGES = 40
"""A name in the headings of more passages is a topic, not something that one section defines."""

_NAME = re.compile(r"\w+(?:[.:\-]\w+)*")


def defining(catalog: Catalog, question: str, *, targets: Collection[str] | None) -> list[int]:
    """Chunks with the name that `question` asks for in title, headings or file name, or else in their text.

    Empty if the question asks for more than a name, or if the name is not in a few passages only.
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

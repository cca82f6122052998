"""Find where a name is defined, for a question that is nothing but a name: headings and file names tell.

A question with more words than the name is better answered by the passage that has those words: lifting definitions for
such questions too cost 1 to 4 points of hit@5 on 78 questions.
"""

import re
from collections.abc import Collection
from pathlib import PurePosixPath

from kb.catalog import Catalog
from kb.catalog.words import query_words

MOST_PASSAGES = 40
"""A name in the headings of more passages is a topic, not something that one section defines."""

_NAME = re.compile(r"\w+(?:[.:\-]\w+)*")


def defining(catalog: Catalog, question: str, *, targets: Collection[str] | None) -> list[int]:
    """Chunks whose title, headings or file name hold the name that `question` asks for; empty if it asks for more."""
    name = asked_name(question)
    if name is None:
        return []
    headed = catalog.headed(name, targets=targets, limit=MOST_PASSAGES + 1)
    whole = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w|\.\w)", re.IGNORECASE)
    found = [chunk for chunk, head, path in headed if whole.search(f"{head}\n{PurePosixPath(path).stem}")]
    return found if len(headed) <= MOST_PASSAGES else []


def asked_name(question: str) -> str | None:
    """The only name or word of `question`, not counting stop words; None if there are others."""
    words = query_words(question)
    names = _NAME.findall(question)
    return next((name for name in names if words == query_words(name)), None) if words else None

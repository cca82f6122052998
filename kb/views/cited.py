"""What a run cites, with its text. Nothing that kb knows to come from a private document is shown."""

import re
from collections.abc import Iterable
from typing import Literal

from kb.errors import CitationError, DocumentError
from kb.types.base import Frozen
from kb.usecases.knowledge_base import KnowledgeBase
from kb.views.documents import cited

LEFT_OUT = "[left out: it is from a private document]"
QUOTED = 24
"""A line of a private passage with at least so many characters is recognised where somebody repeats it."""
_ID = re.compile(r"\b[0-9a-f]{12}\b")


def ids_in(text: str) -> list[str]:
    """What may be ids of citations."""
    return _ID.findall(text)


class Cited(Frozen):
    """A fact or a passage."""

    id: str
    """Argument for `kb cite`."""
    state: Literal["stands", "private", "gone"]
    """`gone`: no document holds it now. Only what stands has a text."""
    place: str = ""
    """File and lines, or pages of a PDF."""
    heading: str = ""
    trust: str = ""
    stated: str = ""
    """The fact, or how the passage begins."""
    text: str = ""
    """The cited lines with their numbers."""


class Sources:
    """Looks up what is cited, each once.

    Args:
        ids: All that prompts cite: what is private among it is recognised where it is repeated.
    """

    def __init__(self, kb: KnowledgeBase, ids: Iterable[str]) -> None:
        self._kb = kb.whole  # otherwise what is private would be unknown, and not recognised
        self._seen: dict[str, Cited] = {}
        self._private_paths = frozenset(document.path for document in self._kb.catalog.documents() if document.private)
        self._private_lines = set[str]()
        for id_ in ids:
            self.get(id_)

    def get(self, id_: str) -> Cited:
        """What an id cites."""
        if id_ not in self._seen:
            self._seen[id_] = self._found(id_)
        return self._seen[id_]

    def private(self, ids: Iterable[str]) -> bool:
        """Whether one of the ids cites a private document."""
        return any(self.get(id_).state == "private" for id_ in ids)

    def open_text(self, text: str) -> str:
        """`text` without the lines that cite a private document, or repeat a line of what prompts cite of one."""
        if not self._private_paths:
            return text
        return "\n".join(LEFT_OUT if self._is_private(line) else line for line in text.split("\n"))

    def _is_private(self, line: str) -> bool:
        plain = " ".join(line.split())
        return self.private(ids_in(line)) or any(private in plain for private in self._private_lines)

    def _found(self, id_: str) -> Cited:
        try:
            place = self._kb.documents.cite(id_, around=0)
            if place.citation.path in self._private_paths:
                lines = (" ".join(text.split()) for _, text, _ in place.lines)
                self._private_lines.update(line for line in lines if len(line) >= QUOTED)
                return Cited(id=id_, state="private")
            found = cited(self._kb, id_, around=0)
        except (CitationError, DocumentError):
            return Cited(id=id_, state="gone")
        return Cited(
            id=id_,
            state="stands",
            place=place.citation.place,
            heading=" > ".join(place.citation.section),
            trust=found.trust,
            stated=found.stated,
            text=found.text,
        )

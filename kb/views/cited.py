"""What a run cites, with its text. Of private documents neither the text nor a line that rests on it is shown."""

import re
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from kb.errors import CitationError, DocumentError
from kb.types.base import Frozen
from kb.views.documents import cited

if TYPE_CHECKING:
    from kb.usecases.knowledge_base import KnowledgeBase

LEFT_OUT = "[left out: it rests on a private document]"
_ID = re.compile(r"\b[0-9a-f]{12}\b")


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
    """Looks up what is cited, each once."""

    def __init__(self, kb: "KnowledgeBase") -> None:
        self._kb = kb
        self._seen: dict[str, Cited] = {}

    def get(self, id_: str) -> Cited:
        """What an id cites."""
        if id_ not in self._seen:
            self._seen[id_] = self._found(id_)
        return self._seen[id_]

    def private(self, ids: Iterable[str]) -> bool:
        """Whether one of the ids cites a private document."""
        return any(self.get(id_).state == "private" for id_ in ids)

    def open_text(self, text: str) -> str:
        """`text` without the lines that cite a private document."""
        lines = text.split("\n")
        return "\n".join(LEFT_OUT if self.private(_ID.findall(line)) else line for line in lines)

    @cached_property
    def _private_paths(self) -> frozenset[str]:
        return frozenset(document.path for document in self._kb.catalog.documents() if document.private)

    def _found(self, id_: str) -> Cited:
        try:
            place = self._kb.documents.cite(id_, around=0).citation
            if place.path in self._private_paths:
                return Cited(id=id_, state="private")
            found = cited(self._kb, id_, around=0)
        except (CitationError, DocumentError):
            return Cited(id=id_, state="gone")
        return Cited(
            id=id_,
            state="stands",
            place=place.place,
            heading=" > ".join(place.section),
            trust=found.trust,
            stated=found.stated,
            text=found.text,
        )

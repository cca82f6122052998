"""Where documents define, list, call and mention an identifier."""

from typing import TYPE_CHECKING, Self

from kb.types.base import Frozen
from kb.types.records import Trust
from kb.types.symbols import SymbolKind
from kb.views.response import Response, view_of

if TYPE_CHECKING:  # the caller has it open; loading it here would delay the start of the MCP server
    from kb.usecases.knowledge_base import KnowledgeBase


class NamedPlace(Frozen):
    kind: SymbolKind
    id: str
    """The id to cite."""
    target: str
    trust: Trust
    place: str
    """File and line, or page of a PDF."""
    edition: str
    """The version or date that the document states."""
    text: str
    """The line, or the whole signature."""


class NamedPlaces(Response):
    name: str
    places: tuple[NamedPlace, ...]
    """By kind, newer documents first."""
    found: dict[str, int]
    """Number of places."""

    @property
    def parts(self) -> int:
        return len(self.places)

    def first(self, n: int) -> Self:
        return self.with_(places=self.places[:n], truncated=True)


def symbol(kb: "KnowledgeBase", name: str, *, target: str | None, limit: int) -> NamedPlaces:
    """The best places of an identifier. Errors as in `kb.usecases.symbols.look_up`."""
    report = kb.symbol(name, target=target, limit=limit)
    places = tuple(view_of(NamedPlace, place) for place in report.places)
    return view_of(NamedPlaces, report, places=places, truncated=len(places) < sum(report.found.values()))

"""Where documents define, list, call and mention an identifier."""

from typing import Self

from kb.types.base import Frozen
from kb.types.records import Trust
from kb.types.symbols import SymbolKind, SymbolReport
from kb.views.response import Response, view_of


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


def named_places(report: SymbolReport) -> NamedPlaces:
    places = tuple(view_of(NamedPlace, place) for place in report.places)
    return view_of(NamedPlaces, report, places=places, truncated=len(places) < sum(report.found.values()))

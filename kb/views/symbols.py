"""The places of an identifier as plain data that fits into a number of tokens."""

from typing import TYPE_CHECKING

from kb.types.base import Frozen
from kb.types.records import Trust
from kb.types.symbols import SymbolKind
from kb.views.answers import Answer

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
    """The version or date that the document states; empty if it states none."""
    text: str
    """The line, or the whole signature."""


class NamedPlaces(Answer):
    places: tuple[NamedPlace, ...]
    left_out: tuple[str, ...]
    """How many places of each kind are not shown."""


def symbol(kb: "KnowledgeBase", name: str, *, target: str | None, limit: int, max_tokens: int) -> NamedPlaces:
    """The best places of an identifier. Errors as in `retrieval.symbols.lookup.look_up`."""
    while True:
        report = kb.symbol(name, target=target, limit=limit)
        left_out = tuple(filter(None, (count.left_out for count in report.counts)))
        places = tuple(
            NamedPlace(
                kind=place.kind,
                id=place.citation.id,
                target=place.target,
                trust=place.trust,
                place=place.citation.place,
                edition=place.edition,
                text=place.text,
            )
            for place in report.places
        )
        more = ("a larger limit and max_tokens show what is left out",) if left_out else ()
        answer = NamedPlaces(places=places, left_out=left_out, truncated=bool(left_out), notes=(*report.notes, *more))
        if answer.tokens <= max_tokens or limit == 1:
            return answer
        limit = max(1, min(limit, len(places)) * max_tokens // answer.tokens)

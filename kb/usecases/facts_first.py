"""Puts the passage that states the asked fact first."""

from collections.abc import Collection, Sequence

from kb.facts.asked import asked_quantity
from kb.facts.profile import StandingFact
from kb.types.fact import Fact
from kb.types.passages import Hit, SearchResult, Why
from kb.usecases.knowledge_base import KnowledgeBase
from retrieval.packing import merge_repetitions
from retrieval.retriever import ROWS_SHOWN


def answering_facts(kb: KnowledgeBase, phrasings: Sequence[str], chip: str | None) -> list[StandingFact]:
    """The facts of `chip` that the first of the phrasings that asks for a quantity asks for, best first."""
    rest = map(kb.targets.without_names, phrasings)
    asked = next((asked for phrasing in rest if (asked := asked_quantity(phrasing))), None)
    return kb.factbook.answering(chip, asked) if chip and asked else []


def stated_first(
    kb: KnowledgeBase, found: SearchResult, answering: Sequence[StandingFact], *, scope: Collection[str] | None
) -> SearchResult:
    """`found` behind the passage that states facts which answer, and one that confirms it, each with its rows.

    Only passages of documents about the targets in `scope` (None: all) come first.
    """
    stating = _chunks(kb, [standing.fact for standing in answering], scope)
    if not stating:
        return found
    first = max(stating, key=lambda chunk: len({fact.quantity for fact, _ in stating[chunk]}))
    keys = {fact.citation.id for fact, _ in stating[first]}
    confirming = _chunks(kb, [fact for s in answering if s.fact.citation.id in keys for fact in s.confirmed_by], scope)
    others = [chunk for chunk in confirming if chunk != first][:1]
    front = [_hit(kb, found, first, stating[first]), *(_hit(kb, found, chunk, confirming[chunk]) for chunk in others)]
    ids = {hit.passage.citation.id for hit in front}
    rest = [hit for hit in found.hits if hit.passage.citation.id not in ids]
    return found.model_copy(update={"hits": tuple(merge_repetitions([*front, *rest]))})


def _chunks(
    kb: KnowledgeBase, facts: Sequence[Fact], scope: Collection[str] | None
) -> dict[int, list[tuple[Fact, int | None]]]:
    """The chunks in scope that state these facts, each with its facts and their table rows, in the facts' order."""
    places = {key: (chunk, row) for key, chunk, row in kb.catalog.stated_in([fact.citation.id for fact in facts])}
    targets = kb.catalog.targets_of([chunk for chunk, _ in places.values()])
    chunks: dict[int, list[tuple[Fact, int | None]]] = {}
    for fact in facts:
        if (place := places.get(fact.citation.id)) and (scope is None or targets[place[0]] in scope):
            chunks.setdefault(place[0], []).append((fact, place[1]))
    return chunks


def _hit(kb: KnowledgeBase, found: SearchResult, chunk: int, stated: Sequence[tuple[Fact, int | None]]) -> Hit:
    """The hit of this chunk with the rows that state the facts first, and with the best score."""
    [passage] = kb.catalog.passages([chunk])
    own = next((hit for hit in found.hits if hit.passage.citation.id == passage.citation.id), None)
    why = own.why if own else Why(lexical=None, dense=None, phrasings=0)
    rows = kb.catalog.rows(list(dict.fromkeys(row for _, row in stated if row is not None)))
    ids = {row.citation.id for row in rows}
    return Hit(
        passage=own.passage if own else passage,
        score=max((hit.score for hit in found.hits[:1]), default=0.0),
        why=why.model_copy(update={"states": tuple(dict.fromkeys(fact.quantity for fact, _ in stated))}),
        rows=(*rows, *(row for row in (own.rows if own else ()) if row.citation.id not in ids))[:ROWS_SHOWN],
        also_in=own.also_in if own else (),
    )

"""Pins the passage that states the asked fact to the top."""

from collections.abc import Collection, Iterator, Sequence

from kb.catalog import Catalog
from kb.facts.resolution import StandingFact
from kb.types.fact import Fact
from kb.types.passages import Hit, ScoreParts
from retrieval.packing import merge_repetitions
from retrieval.retriever import ROWS_SHOWN

PINNED = 2
"""Most passages that are pinned."""

Statements = dict[int, list[tuple[Fact, int | None]]]
"""For each chunk the facts that it states, each with its table row."""


def pin_facts(
    catalog: Catalog, hits: Sequence[Hit], answering: Sequence[StandingFact], *, targets: Collection[str] | None
) -> list[Hit]:
    """`hits` behind the passage that states facts which answer, and one that confirms it, each with its rows.

    Only passages of documents about `targets` (None: all) are pinned.
    """
    stating = _statements(catalog, [standing.fact for standing in answering], targets)
    if not stating:
        return list(hits)
    first = max(stating, key=lambda chunk: len({fact.quantity for fact, _ in stating[chunk]}))
    keys = {fact.citation.id for fact, _ in stating[first]}
    confirming = [fact for s in answering if s.fact.citation.id in keys for fact in s.confirmed_by]
    others = {chunk: own for chunk, own in _statements(catalog, confirming, targets).items() if chunk != first}
    chosen = {first: stating[first], **dict(list(others.items())[: PINNED - 1])}
    pinned = list(_hits(catalog, hits, chosen))
    ids = {hit.passage.citation.id for hit in pinned}
    return merge_repetitions([*pinned, *(hit for hit in hits if hit.passage.citation.id not in ids)])


def _statements(catalog: Catalog, facts: Sequence[Fact], targets: Collection[str] | None) -> Statements:
    """The chunks that state these facts, in the facts' order."""
    places = {key: (chunk, row) for key, chunk, row in catalog.stated_in([fact.citation.id for fact in facts])}
    target_of = catalog.targets_of([chunk for chunk, _ in places.values()])
    chunks: Statements = {}
    for fact in facts:
        if (place := places.get(fact.citation.id)) and (targets is None or target_of[place[0]] in targets):
            chunks.setdefault(place[0], []).append((fact, place[1]))
    return chunks


def _hits(catalog: Catalog, hits: Sequence[Hit], stating: Statements) -> Iterator[Hit]:
    """A hit for each chunk, with the rows that state its facts first, and with the best score."""
    found = {hit.passage.citation.id: hit for hit in hits}
    best = max((hit.score for hit in hits[:1]), default=0.0)
    for passage, stated in zip(catalog.passages(list(stating)), stating.values(), strict=True):
        unfound = Hit(passage=passage, score=best, why=ScoreParts(lexical=None, dense=None, phrasings=0))
        own = found.get(passage.citation.id, unfound)
        rows = catalog.rows(list(dict.fromkeys(row for _, row in stated if row is not None)))
        others = (row for row in own.rows if row.citation.id not in {row.citation.id for row in rows})
        why = own.why.model_copy(update={"states": tuple(dict.fromkeys(fact.quantity for fact, _ in stated))})
        yield own.model_copy(update={"score": best, "why": why, "rows": (*rows, *others)[:ROWS_SHOWN]})

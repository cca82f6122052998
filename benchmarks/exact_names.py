"""Search a home for exact names of its documents, and count how often the right passage is the first hit."""

import random
import re
from collections.abc import Iterator
from itertools import islice

from kb.bench.answers import is_sheet
from kb.catalog.words import is_identifier
from kb.types.passages import Passage
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.searching import asked

NAMES = 100
"""Most names of each kind that are searched for."""
TRIED = 10
"""Passages read for each name sought."""
_NAME = re.compile(r"[A-Za-z0-9]+(?:[_.:\-][A-Za-z0-9]+)+")


def ask_for_names(kb: KnowledgeBase) -> dict[str, int]:
    """Search for up to NAMES names of each kind, drawn at random but the same ones each time.

    `headings` are headings, and the first hit must be under such a heading. One passage of a target has each of `lone`
    and no other, and it must be the first hit.
    """
    chance = random.Random(0)
    documents = kb.documents.stored()
    said = {(d.target, section.trail[-1]) for d in documents for section in kb.catalog.outline(d.source)}
    titles = [(target, title) for target, title in sorted(said) if _NAME.fullmatch(title) and is_identifier(title)]
    headings = chance.sample(titles, k=min(NAMES, len(titles)))
    lone = list(islice(_lone_names(kb, chance), NAMES))
    trails = [(name, (p.title, *p.citation.section)) for target, name in headings for p in _first(kb, target, name)]
    return {
        "headings": len(headings),
        "headings_first": sum(name in trail for name, trail in trails),
        "lone": len(lone),
        "lone_first": sum(first.citation == p.citation for name, p in lone for first in _first(kb, p.target, name)),
    }


def _lone_names(kb: KnowledgeBase, chance: random.Random) -> Iterator[tuple[str, Passage]]:
    """Names that only one passage of its target has, at most one for each passage."""
    chunks = [chunk for document in kb.documents.stored() for chunk in kb.catalog.chunk_ids(document.source)]
    for chunk in chance.sample(chunks, k=min(TRIED * NAMES, len(chunks))):
        [passage] = kb.catalog.passages([chunk])
        names = sorted(set(filter(is_identifier, _NAME.findall(passage.text))))
        if names and not is_sheet(passage):
            name = chance.choice(names)
            if len(kb.catalog.texts_with([name], targets=kb.targets.scope(passage.target), limit=2)) == 1:
                yield name, passage


def _first(kb: KnowledgeBase, target: str, name: str) -> list[Passage]:
    """The first hit, if there is one."""
    return [hit.passage for hit in kb.search_engine.find(*asked(kb, name, target=target), limit=1).hits]

"""Answers a question with hits or with packed passages, and marks those that are stale."""

from collections.abc import Sequence

from kb.home.knowledge_base import KnowledgeBase
from kb.home.searching import CONTEXT_CANDIDATES, find
from kb.home.staleness import Staleness
from kb.model.passages import Context, SearchResult
from retrieval.packing import pack
from retrieval.widening import widen


def search(
    kb: KnowledgeBase, question: str | Sequence[str], *, target: str | None, compare: bool, limit: int
) -> SearchResult:
    """As `KnowledgeBase.search`."""
    found = find(kb, question, target=target, compare=compare, limit=limit)
    with kb.catalog.snapshot():
        marked = Staleness(kb.catalog).marked
        hits = [hit.model_copy(update={"passage": marked(hit.passage)}) for hit in found.hits]
        return found.model_copy(update={"hits": tuple(widen(hits, kb.catalog))})


def context(
    kb: KnowledgeBase, question: str | Sequence[str], *, target: str | None, compare: bool, budget_tokens: int | None
) -> Context:
    """As `KnowledgeBase.context`."""
    found = find(kb, question, target=target, compare=compare, limit=CONTEXT_CANDIDATES)
    packed = pack(found, budget_tokens=budget_tokens or kb.settings.budget_tokens)
    with kb.catalog.snapshot():
        passages = tuple(map(Staleness(kb.catalog).marked, packed.passages))
    return packed.model_copy(update={"passages": passages})

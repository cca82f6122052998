"""Answers a question with hits or with packed passages, and marks those that are stale."""

from collections.abc import Sequence

from kb.home.knowledge_base import KnowledgeBase
from kb.home.searching import CONTEXT_CANDIDATES, chunks_among, find, phrasings_of
from kb.home.staleness import Staleness
from kb.model.passages import Context, Only, SearchResult
from retrieval.excerpt import with_excerpts
from retrieval.listings import with_whole_listings
from retrieval.packing import pack
from retrieval.widening import widen


def search(
    kb: KnowledgeBase,
    question: str | Sequence[str],
    *,
    target: str | None,
    compare: bool,
    only: Only | None,
    limit: int,
) -> SearchResult:
    """As `KnowledgeBase.search`."""
    found = find(kb, question, target=target, compare=compare, limit=limit, among=chunks_among(kb, only))
    with kb.catalog.snapshot():
        marked = Staleness(kb.catalog).marked
        hits = [hit.model_copy(update={"passage": marked(hit.passage)}) for hit in found.hits]
        widened = found.model_copy(update={"hits": tuple(widen(hits, kb.catalog))})
    return with_excerpts(widened, phrasings_of(question))


def context(
    kb: KnowledgeBase,
    question: str | Sequence[str],
    *,
    target: str | None,
    compare: bool,
    only: Only | None,
    budget_tokens: int | None,
) -> Context:
    """As `KnowledgeBase.context`."""
    among = chunks_among(kb, only)
    found = find(kb, question, target=target, compare=compare, limit=CONTEXT_CANDIDATES, among=among)
    with kb.catalog.snapshot():
        whole = found.model_copy(update={"hits": tuple(with_whole_listings(found.hits, kb.catalog))})
        packed = pack(whole, budget_tokens=budget_tokens or kb.settings.budget_tokens)
        passages = tuple(map(Staleness(kb.catalog).marked, packed.passages))
    return packed.model_copy(update={"passages": passages})

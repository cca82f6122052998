"""Searches a home: chooses targets, rejects unknown names, ranks passages, and marks those that are stale."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from kb.catalog.words import query_words
from kb.errors import QueryError
from kb.types.passages import Context, Hit, Only, SearchResult, Status
from kb.usecases.facts_first import answering_facts, stated_first
from kb.usecases.in_force import in_force_first
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.staleness import Staleness
from retrieval.excerpt import with_excerpts
from retrieval.listings import with_whole_listings
from retrieval.packing import pack
from retrieval.reranker import RERANKED_HITS, Reranker
from retrieval.terms import states_amount
from retrieval.unknown_names import nearest_names, unknown_names
from retrieval.unknown_terms import unknown_terms
from retrieval.unstated_numbers import DEEP, SUPPORT, asked_number, support
from retrieval.widening import widen

CONTEXT_CANDIDATES = 100


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
    found = find(kb, question, target=target, compare=compare, limit=limit, among=_chunks_among(kb, only))
    with kb.catalog.snapshot():
        marked = Staleness(kb.catalog).marked
        hits = [hit.model_copy(update={"passage": marked(hit.passage)}) for hit in found.hits]
        widened = found.model_copy(update={"hits": tuple(widen(hits, kb.catalog))})
    return with_excerpts(widened, _phrasings(question))


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
    among = _chunks_among(kb, only)
    found = find(kb, question, target=target, compare=compare, limit=CONTEXT_CANDIDATES, among=among)
    with kb.catalog.snapshot():
        whole = found.model_copy(update={"hits": tuple(with_whole_listings(found.hits, kb.catalog))})
        packed = pack(whole, budget_tokens=budget_tokens or kb.settings.budget_tokens)
        passages = tuple(map(Staleness(kb.catalog).marked, packed.passages))
    return packed.model_copy(update={"passages": passages})


def find(
    kb: KnowledgeBase,
    question: str | Sequence[str],
    *,
    target: str | None,
    compare: bool = False,
    limit: int,
    among: Collection[int] | None = None,
) -> SearchResult:
    """The best passages, without their surroundings. Arguments and errors as in `KnowledgeBase.search`.

    `among` are the chunks that may be found (None: all).
    """
    phrasings = _phrasings(question)
    chips = kb.targets.named_below(target, " ".join(phrasings)) if target and not compare else ()
    missing = kb.ensure_sheets(target) if target else None
    scope = _scope(kb, target, chips, compare=compare)
    counts = kb.catalog.count_by_target()
    stored = counts.keys() & (scope if scope is not None else counts.keys())
    if missing and not stored:
        raise missing
    if not stored:
        return _insufficient(_no_documents(" or ".join(chips) or target, counts))
    if missing:
        kb.notify(missing.message)
    beside = _beside(kb, target, phrasings[0], counts) if target and not compare else []
    chip = None if compare or beside else _chip(kb, target, phrasings[0], chips)
    facts = answering_facts(kb, phrasings, chip) if among is None else []
    unknown = {phrasing: unknown_names(kb.catalog, phrasing, targets=stored) for phrasing in phrasings}
    if not facts and (refused := _unknown(kb, unknown, target, stored)):
        return _insufficient(*refused)
    found = ranked(kb, phrasings, target=target, scope=scope, limit=limit, among=among)
    notes = [*found.notes]
    if not all(unknown.values()):
        notes += [_not_named(kb, names[0], target, stored) for names in unknown.values() if names]
    if chips:
        notes.append(f"the question names {' and '.join(chips)}: other chips of {target} were not searched")
    notes += [f"{name} is another target: search for it with --target {name}" for name in beside]
    if not facts and (unstated := _unstated(kb, phrasings, found, scope, stored, among)):
        return _insufficient(unstated, *notes)
    found = stated_first(kb, found, facts, scope=scope)
    return found.model_copy(update={"hits": found.hits[:limit], "notes": tuple(notes)})


def _unknown(
    kb: KnowledgeBase, names: Mapping[str, list[str]], target: str | None, stored: Collection[str]
) -> list[str]:
    """Notes on the unknown words of the first phrasing, if every phrasing has some; `names` are the unknown names."""
    unknown = [own or unknown_terms(kb.catalog, phrasing, targets=stored) for phrasing, own in names.items()]
    return [_not_named(kb, name, target, stored) for name in unknown[0]] if all(unknown) else []


def _unstated(
    kb: KnowledgeBase,
    phrasings: Sequence[str],
    found: SearchResult,
    scope: frozenset[str] | None,
    stored: Collection[str],
    among: Collection[int] | None,
) -> str | None:
    """A note if the first phrasing asks for a number in a unit and no passage, also far below `found`, supports it."""
    number = asked_number(phrasings[0])
    if number is None:
        return None
    question = kb.targets.without_names(phrasings[0])
    supported = partial(support, kb.catalog, question, number, targets=stored)
    if supported(found.hits) >= SUPPORT:
        return None
    deep = kb.models.retriever(among).search(phrasings, targets=scope, limit=DEEP)
    if supported(deep.hits) >= SUPPORT:
        return None
    return f"no passage names what the question asks for together with a number in {number.unit}"


def _chunks_among(kb: KnowledgeBase, only: Only | None) -> frozenset[int] | None:
    """The chunks that a search is limited to; None: all."""
    if only is None:
        return None
    paths = {path for name in only.within for path in _paths_within(kb, name)} if only.within else None
    seen = {place[1] for key in only.seen if (place := kb.catalog.place(key.partition(".")[0]))}
    return frozenset(
        chunk
        for chunk, (kind, text) in kb.catalog.chunks_of(paths).items()
        if chunk not in seen and (not only.numbers or kind == "table" or states_amount(text))
    )


def _paths_within(kb: KnowledgeBase, name: str) -> set[str]:
    """The paths of which `name` is a part: a file, a folder, or several folders in a row."""
    part = f"/{name.strip('/')}/"
    found = {document.path for document in kb.documents.stored() if part in f"/{document.path}/"}
    return found or {document.path for document in kb.documents.below([name])}


def ranked(
    kb: KnowledgeBase,
    phrasings: Sequence[str],
    *,
    target: str | None,
    scope: frozenset[str] | None,
    limit: int,
    among: Collection[int] | None = None,
) -> SearchResult:
    """The best passages of the documents in `scope`; names unknown to the documents are no obstacle."""
    reranker = kb.models.reranker
    wanted = max(limit, RERANKED_HITS) if reranker else limit
    found = kb.models.retriever(among).search(phrasings, targets=scope, limit=2 * wanted)
    found = found.model_copy(update={"hits": tuple(in_force_first(found.hits, limit=wanted))})
    if reranker:
        found = _reranked(reranker, phrasings[0], found, limit=limit)
    if target is None:
        return found
    siblings = kb.targets.sibling_finder(target)
    return found.model_copy(update={"hits": tuple(_marked(hit, siblings) for hit in found.hits)})


def _scope(kb: KnowledgeBase, target: str | None, chips: Sequence[str], *, compare: bool) -> frozenset[str] | None:
    """The scope of `target`, or of those of its chips that the question names."""
    if target is None:
        return None
    if compare:
        return kb.targets.family(target)
    return frozenset().union(*map(kb.targets.scope, chips or (target,)))


def _beside(kb: KnowledgeBase, target: str, question: str, counts: Collection[str]) -> list[str]:
    """The targets with documents that `question` names and that the documents of `target` are not about."""
    return sorted(kb.targets.named(question) & set(counts) - kb.targets.scope(target))


def _chip(kb: KnowledgeBase, target: str | None, question: str, chips: Sequence[str]) -> str | None:
    """The one chip that the question is about: the one that it names, otherwise the requested target."""
    named = chips or ([target] if target else sorted(kb.targets.named(question)))
    return named[0] if len(named) == 1 else None


def _not_named(kb: KnowledgeBase, name: str, target: str | None, stored: Collection[str]) -> str:
    message = (
        f"no document of {kb.targets.get(target).name} mentions {name}" if target else f"no document mentions {name}"
    )
    if near := nearest_names(kb.catalog, name, targets=stored):
        return f"{message}; similar names: {', '.join(near)}"
    other = kb.targets.find(name)
    if other and other.name not in stored:
        return f"{message}, which is another target: search with --target {other.name}"
    return f"{message}; search again without that name"


def _phrasings(question: str | Sequence[str]) -> list[str]:
    phrasings = [question] if isinstance(question, str) else list(question)
    if asked := [p for p in phrasings if query_words(p)]:
        return asked
    raise QueryError("the question has no word to search for", hint="use at least one content word")


def _no_documents(target: str | None, counts: dict[str, int]) -> str:
    known = ", ".join(counts) or "none"
    return f"no documents of {target or 'any target'} have been ingested (targets with documents: {known})"


def _insufficient(*notes: str) -> SearchResult:
    return SearchResult(status=Status.INSUFFICIENT, hits=(), notes=notes)


def _reranked(reranker: Reranker, question: str, found: SearchResult, *, limit: int) -> SearchResult:
    """The hits in the order of the cross-encoder; if it is too slow, in their own order with a note."""
    hits = reranker.order(question, found.hits)
    late = () if hits is not None else ("the cross-encoder exceeded its time limit: these hits are in fused order",)
    kept = tuple(found.hits if hits is None else hits)[:limit]
    return found.model_copy(update={"hits": kept, "notes": (*found.notes, *late)})


def _marked(hit: Hit, siblings: Callable[[str], frozenset[str]]) -> Hit:
    """The hit with the siblings that its headings name, and without rows that name a sibling."""
    passage = hit.passage.model_copy(update={"about": tuple(sorted(siblings(hit.passage.trail)))})
    rows = tuple(row for row in hit.rows if not siblings(row.shown))
    return hit.model_copy(update={"passage": passage, "rows": rows})

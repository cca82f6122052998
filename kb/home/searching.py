"""Question → hits: which targets take part, what the documents do not know, and which passages are best."""

from collections.abc import Callable, Collection, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from kb.catalog import Catalog
from kb.catalog.words import query_words
from kb.errors import MissingModelError, QueryError, StoreError
from kb.model.passages import Hit, SearchResult, Status
from kb.model.protocols import Embedder
from kb.settings import NO_MODEL, Settings, cache_dir
from retrieval.chroma_index import ChromaIndex, current_folder, publish
from retrieval.compile import load_embedder
from retrieval.fusion import fuse
from retrieval.reranker import RERANKED_HITS, Reranker
from retrieval.retriever import Retriever
from retrieval.unknown_names import nearest_names, unknown_names
from retrieval.unstated import unstated_unit
from retrieval.vectors import ExactIndex, VectorIndex

if TYPE_CHECKING:
    from kb.home.knowledge_base import KnowledgeBase
CONTEXT_CANDIDATES = 50


class Models:
    """The embedding model, the cross-encoder and the vectors of a home, each loaded when it is first needed."""

    def __init__(
        self, catalog: Catalog, settings: Settings, *, notify: Callable[[str], None], embedder: Embedder | None
    ) -> None:
        self._catalog = catalog
        self._settings = settings
        self._notify = notify
        self._given_embedder = embedder

    @cached_property
    def embedder(self) -> Embedder | None:
        """The embedding model, or None: then search is lexical, and the user is told."""
        if self._given_embedder is not None:
            return self._given_embedder
        if self._settings.embedding_model == NO_MODEL:
            return None
        try:
            return load_embedder(
                self._settings.embedding_model,
                cache=cache_dir(),
                on_compile=lambda name: self._notify(f"compiling the embedding model {name} (once on this machine)"),
            )
        except MissingModelError as error:
            self._notify(f"search is lexical only: {error.message}; {error.hint}")
            return None

    @cached_property
    def reranker(self) -> Reranker | None:
        """The cross-encoder that the settings name, or None."""
        if self._settings.reranker_model == NO_MODEL:
            return None
        return Reranker(self._settings.reranker_model, seconds=self._settings.reranker_seconds)

    def retriever(self) -> Retriever:
        """What searches as the settings say, without regard to targets and names."""
        fusion = partial(fuse, lexical_weight=self._settings.lexical_weight)
        return Retriever(self._catalog, self.embedder, self._indexes(), fusion)

    def needs_index(self) -> bool:
        """Whether there are so many vectors that searches without a target ask the published index."""
        return self._catalog.count_windows() > self._settings.exact_vectors

    def publish_index(self) -> None:
        """Make the vector index anew where searches ask it and it is out of date. They do without where that fails."""
        model = self.embedder.fingerprint if self.embedder else None
        if model is None or not self.needs_index() or current_folder(self._catalog, model=model):
            return
        try:
            publish(self._catalog, model=model)
        except StoreError as error:
            self._notify(f"searches will compare every vector: {error.message}")

    def _indexes(self) -> list[VectorIndex]:
        """Where dense candidates come from: first of all the published index, where so many vectors need one."""
        return list(self._both_indexes if self.needs_index() else self._both_indexes[1:])

    @cached_property
    def _both_indexes(self) -> tuple[VectorIndex, ...]:
        if self.embedder is None:
            return ()
        model = self.embedder.fingerprint
        return ChromaIndex(self._catalog, model=model), ExactIndex(self._catalog, model=model)


def find(
    kb: "KnowledgeBase", question: str | Sequence[str], *, target: str | None, compare: bool = False, limit: int
) -> SearchResult:
    """The best passages, without what stands around them. Arguments and errors as of `KnowledgeBase.search`."""
    phrasings = _phrasings(question)
    chips = kb.targets.named_below(target, " ".join(phrasings)) if target and not compare else ()
    scope = _scope(kb, target, chips, compare=compare)
    counts = kb.catalog.count_by_target()
    stored = counts.keys() & (scope if scope is not None else counts.keys())
    if not stored:
        return _insufficient(_no_documents(" or ".join(chips) or target, counts))
    unknown = [unknown_names(kb.catalog, phrasing, targets=stored) for phrasing in phrasings]
    if all(unknown):
        return _insufficient(*(_not_named(kb, name, target, stored) for name in unknown[0]))
    found = ranked(kb, phrasings, target=target, scope=scope, limit=limit)
    notes = [*found.notes]
    if chips:
        notes.append(f"the question names {' and '.join(chips)}: other chips of {target} take no part")
    if unit := unstated_unit(phrasings[0], found.hits):
        notes.append(f"none of the passages found states a number in {unit}: the documents may not say it")
    return found.model_copy(update={"notes": tuple(notes)})


def ranked(
    kb: "KnowledgeBase", phrasings: Sequence[str], *, target: str | None, scope: frozenset[str] | None, limit: int
) -> SearchResult:
    """The best passages of the documents of `scope`, whatever names they hold."""
    reranker = kb.models.reranker
    wanted = max(limit, RERANKED_HITS) if reranker else limit
    found = kb.models.retriever().search(phrasings, targets=scope, limit=wanted)
    if reranker:
        found = _reranked(reranker, phrasings[0], found, limit=limit)
    if target is None:
        return found
    siblings = kb.targets.sibling_finder(target)
    return found.model_copy(update={"hits": tuple(_marked(hit, siblings) for hit in found.hits)})


def _scope(kb: "KnowledgeBase", target: str | None, chips: Sequence[str], *, compare: bool) -> frozenset[str] | None:
    """Of `target`, or of those of its `chips` that the question names: then it is about these."""
    if target is None:
        return None
    kb.ensure_sheets(target)
    if compare:
        return kb.targets.family(target)
    return frozenset().union(*map(kb.targets.scope, chips or (target,)))


def _not_named(kb: "KnowledgeBase", name: str, target: str | None, stored: Collection[str]) -> str:
    where = f"documents of {kb.targets.get(target).name}" if target else "documents"
    if near := nearest_names(kb.catalog, name, targets=stored):
        return f"no {where} name {name}; near it they name {', '.join(near)}"
    other = kb.targets.find(name)
    if other and other.name not in stored:
        return f"no {where} name {name}, which is a target of its own: ask for it with that target"
    return f"no {where} name {name}; without that name the question can still be searched for"


def _phrasings(question: str | Sequence[str]) -> list[str]:
    phrasings = [question] if isinstance(question, str) else list(question)
    if asked := [p for p in phrasings if query_words(p)]:
        return asked
    raise QueryError("the question holds no word to search for", hint="ask with at least one content word")


def _no_documents(target: str | None, counts: dict[str, int]) -> str:
    known = ", ".join(counts) or "none"
    return f"no documents of {target or 'any target'} have been ingested (targets with documents: {known})"


def _insufficient(*notes: str) -> SearchResult:
    return SearchResult(status=Status.INSUFFICIENT, hits=(), notes=notes)


def _reranked(reranker: Reranker, question: str, found: SearchResult, *, limit: int) -> SearchResult:
    """In the order of the cross-encoder, or as they are and said so."""
    hits = reranker.order(question, found.hits)
    late = () if hits is not None else ("the cross-encoder took longer than it may: these hits are in fused order",)
    kept = tuple(found.hits if hits is None else hits)[:limit]
    return found.model_copy(update={"hits": kept, "notes": (*found.notes, *late)})


def _marked(hit: Hit, siblings: Callable[[str], frozenset[str]]) -> Hit:
    """Says of a passage whose headings speak of a sibling that they do; rows that do are not shown for an answer."""
    passage = hit.passage.model_copy(update={"about": tuple(sorted(siblings(hit.passage.trail)))})
    rows = tuple(row for row in hit.rows if not siblings(row.shown))
    return hit.model_copy(update={"passage": passage, "rows": rows})

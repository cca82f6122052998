"""The whole way from a question to its hits and to a packed context, from top to bottom.

Candidates by words and by vectors are fused, the first ones ranked again by what they say, and put in order of
precedence (`rank`). A doubtful question that no passage supports is refused, and facts that answer are pinned to the
top (`find`). Hits get neighbours and excerpts (`search`), or are packed (`context`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from kb.catalog import Catalog
from kb.catalog.words import query_words
from kb.errors import QueryError
from kb.facts.resolution import StandingFact
from kb.siblings import siblings_of
from kb.targets import Targets
from kb.types.passages import Context, Hit, SearchResult, Status
from retrieval.abstention import asked_number, is_supported, unknown_names, unknown_words
from retrieval.excerpt import PAGE_CHARACTERS, with_excerpts
from retrieval.listings import with_whole_listing
from retrieval.models import Models
from retrieval.names import nearest_names
from retrieval.packing import pack
from retrieval.pin_facts import PINNED, pin_facts
from retrieval.precedence import by_precedence
from retrieval.scope import Scope
from retrieval.whose import marked, of_target
from retrieval.widening import widen

CONTEXT_CANDIDATES = 100
"""Hits that a context is packed from."""
ANSWERS = 10
"""Hits that answers come from."""
NO_MORE = "the pages before have all that answers"
DEEP = 50
"""Hits among which support is sought before a question is refused."""


@dataclass(frozen=True, slots=True)
class SearchEngine:
    """Answers questions from the documents of a catalog. A question is one phrasing or several of the same.

    `facts` are those that answer it, best first.
    """

    catalog: Catalog
    targets: Targets
    models: Models

    def search(
        self, phrasings: Sequence[str], scope: Scope, facts: Sequence[StandingFact], *, limit: int
    ) -> SearchResult:
        """The best passages with excerpts, the first ones with their surroundings."""
        found = self.find(phrasings, scope, facts, limit=limit)
        with self.catalog.snapshot():
            widened = found.with_hits(widen(found.hits, self.catalog))
        return with_excerpts(widened, phrasings)

    def answers(
        self, phrasings: Sequence[str], scope: Scope, facts: Sequence[StandingFact], *, page: int
    ) -> SearchResult:
        """The hits with those of their lines that are on a page of the answer, which begins with the likeliest ones."""
        found = self.find(phrasings, scope, facts, limit=ANSWERS)
        pages = [PAGE_CHARACTERS * 2**n for n in range(page)]
        answer = with_excerpts(found, phrasings, pages)
        shown = answer.with_hits(hit for hit in answer.hits if hit.excerpt)
        notes = found.notes if page == 1 or not found.hits else () if shown.hits else (NO_MORE,)
        return shown.model_copy(update={"notes": notes})

    def context(
        self, phrasings: Sequence[str], scope: Scope, facts: Sequence[StandingFact], *, budget_tokens: int
    ) -> Context:
        """The best passages that fit into a token budget."""
        found = self.find(phrasings, scope, facts, limit=CONTEXT_CANDIDATES)
        with self.catalog.snapshot():
            whole = found.with_hits([with_whole_listing(hit, self.catalog) for hit in found.hits])
        return pack(whole, budget_tokens=budget_tokens)

    def find(
        self, phrasings: Sequence[str], scope: Scope, facts: Sequence[StandingFact], *, limit: int
    ) -> SearchResult:
        """The best passages alone, or why the documents in scope have no answer."""
        if not scope.stored:
            return _insufficient(self._no_documents(scope))
        plain = map(self.targets.without_names, phrasings)
        unknown_all = [unknown_words(self.catalog, phrasing, targets=scope.stored) for phrasing in plain]
        if not facts and all(unknown_all):
            return _insufficient(*(self._not_named(word, scope) for word in unknown_all[0]))
        found = self.rank(phrasings, scope, limit=limit)
        unknown = [unknown_names(self.catalog, phrasing, targets=scope.stored) for phrasing in phrasings]
        unnamed = tuple(dict.fromkeys(self._not_named(names[0], scope) for names in unknown if names))
        if not facts and (why := self._refused(phrasings, found, scope, unnamed=unnamed if all(unknown) else ())):
            return _insufficient(*dict.fromkeys((*why, *unnamed)), *scope.notes)
        notes = (*found.notes, *unnamed, *scope.notes)
        hits = pin_facts(self.catalog, found.hits, facts, targets=scope.targets)
        hits[:PINNED] = self._of_target(hits[:PINNED], scope)
        return found.model_copy(update={"hits": tuple(hits[:limit]), "notes": notes})

    def rank(self, phrasings: Sequence[str], scope: Scope, *, limit: int) -> SearchResult:
        """The best passages, whether or not the documents may have an answer."""
        found = self.models.retriever(scope.chunks).search(phrasings, targets=scope.targets, limit=2 * limit)
        return found.with_hits(by_precedence(self._of_target(found.hits, scope), limit=limit))

    def _of_target(self, hits: Sequence[Hit], scope: Scope) -> list[Hit]:
        """The hits without what they say about siblings; only marked if the question may be about these, too."""
        if scope.target is None:
            return list(hits)
        siblings = siblings_of(self.targets, scope.chip or scope.target, self.catalog.texts_with)
        return [(of_target if scope.chip else marked)(hit, siblings) for hit in hits]

    def _refused(
        self, phrasings: Sequence[str], found: SearchResult, scope: Scope, *, unnamed: Sequence[str]
    ) -> Sequence[str]:
        """Why the documents in scope have no answer; empty if they may have one.

        Args:
            unnamed: Notes on names that no document has, if every phrasing has one.
        """
        number = asked_number(phrasings[0])
        if number is None and not unnamed:
            return ()
        unit, stated = number or (" ", None)
        words = [self.targets.without_names(p, scope.targets).replace(unit, " ") for p in phrasings]
        supported = partial(is_supported, self.catalog, words, stated=stated, targets=scope.stored)
        if supported(found.hits) or supported(self.rank(phrasings, scope, limit=DEEP).hits):
            return ()
        return unnamed or (f"no passage names what the question asks for together with a number in {unit}",)

    def _not_named(self, name: str, scope: Scope) -> str:
        where = f"no document of {self.targets.get(scope.target).name}" if scope.target else "no document"
        message = f"{where} mentions {name}"
        if near := nearest_names(self.catalog, name, targets=scope.stored):
            return f"{message}; similar names: {', '.join(near)}"
        other = self.targets.find(name)
        if other and other.name not in scope.stored:
            return f"{message}, which is another target: search with --target {other.name}"
        return f"{message}; search again without that name"

    def _no_documents(self, scope: Scope) -> str:
        asked = " or ".join(scope.chips) or scope.target or "any target"
        known = ", ".join(self.catalog.count_by_target()) or "none"
        return f"no documents of {asked} have been ingested (targets with documents: {known})"


def phrasings_of(question: str | Sequence[str]) -> list[str]:
    """The phrasings that have a word to search for. Raises QueryError if none has."""
    phrasings = [question] if isinstance(question, str) else list(question)
    if asked := [p for p in phrasings if query_words(p)]:
        return asked
    raise QueryError("the question has no word to search for", hint="use at least one content word")


def _insufficient(*notes: str) -> SearchResult:
    return SearchResult(status=Status.INSUFFICIENT, hits=(), notes=notes)

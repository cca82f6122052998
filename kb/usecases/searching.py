"""Settles the scope of a question, with the sheets of its target, and asks the search engine."""

from collections.abc import Sequence

from kb.types.passages import Context, SearchFilter, SearchResult
from kb.usecases.home import Home
from kb.usecases.sheets import ensure_sheets
from retrieval.scope import Scope, filtered_chunks, scope_of
from retrieval.search import phrasings_of


def context(
    home: Home,
    question: str | Sequence[str],
    *,
    target: str | None = None,
    compare: bool = False,
    only: SearchFilter | None = None,
    budget_tokens: int | None = None,
) -> Context:
    """The passages packed into a token budget. Arguments and errors as in `KnowledgeBase.search`."""
    phrasings, scope = asked(home, question, target=target, compare=compare, only=only)
    return home.search_engine.context(phrasings, scope, budget_tokens=budget_tokens or home.settings.budget_tokens)


def find(home: Home, question: str | Sequence[str], *, target: str | None, limit: int) -> SearchResult:
    """The best passages, without their surroundings. Arguments and errors as in `KnowledgeBase.search`."""
    phrasings, scope = asked(home, question, target=target)
    return home.search_engine.find(phrasings, scope, limit=limit)


def asked(
    home: Home,
    question: str | Sequence[str],
    *,
    target: str | None,
    compare: bool = False,
    only: SearchFilter | None = None,
) -> tuple[list[str], Scope]:
    """The phrasings of a question and its scope. If its sheets cannot be added, the user is told.

    Raises:
        StoreError: nor is there any other document in scope.
    """
    missing = ensure_sheets(home, target) if target else None
    phrasings = phrasings_of(question)
    chunks = filtered_chunks(home.catalog, only, _paths(home, only.within)) if only else None
    scope = scope_of(home.catalog, home.targets, phrasings, target=target, compare=compare, chunks=chunks)
    if missing and not scope.stored:
        raise missing
    if missing:
        home.notify(missing.message)
    return phrasings, scope


def _paths(home: Home, names: Sequence[str]) -> set[str] | None:
    """The paths of the documents with these names and in these folders; None if there are no names."""
    return {path for name in names for path in _paths_within(home, name)} if names else None


def _paths_within(home: Home, name: str) -> set[str]:
    """The paths of which `name` is a part: a file, a folder, or several folders in a row."""
    part = f"/{name.strip('/')}/"
    found = {document.path for document in home.documents.stored() if part in f"/{document.path}/"}
    return found or {document.path for document in home.documents.below([name])}

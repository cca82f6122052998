"""From what a user asks to what the search engine is asked: the scope, with the sheets of its target, and facts."""

from collections.abc import Sequence
from typing import NamedTuple

from kb.facts.resolution import StandingFact
from kb.types.passages import SearchFilter
from kb.usecases.home import Home
from kb.usecases.sheets import ensure_sheets
from retrieval.scope import Scope, filtered_chunks, scope_of
from retrieval.search import phrasings_of


class Question(NamedTuple):
    """What the search engine is asked."""

    phrasings: list[str]
    scope: Scope
    facts: list[StandingFact]
    """Those that answer it, best first."""


def asked(
    home: Home,
    question: str | Sequence[str],
    *,
    target: str | None,
    compare: bool = False,
    only: SearchFilter | None = None,
) -> Question:
    """What to ask the search engine. If the sheets of the target cannot be added, the user is told.

    Raises:
        StoreError: nor is there any other document in scope.
    """
    missing = ensure_sheets(home, target) if target else None
    phrasings = phrasings_of(question)
    within = {path for name in only.within for path in _paths_within(home, name)} if only and only.within else None
    chunks = filtered_chunks(home.catalog, only, within) if only else None
    scope = scope_of(home.catalog, home.targets, phrasings, target=target, compare=compare, chunks=chunks)
    if missing and not scope.stored:
        raise missing
    if missing:
        home.notify(missing.message)
    one_chip = scope.chip if scope.chunks is None else None
    return Question(phrasings, scope, home.factbook.answering(one_chip, phrasings) if one_chip else [])


def _paths_within(home: Home, name: str) -> set[str]:
    """The paths of which `name` is a part: a file, a folder, or several folders in a row."""
    part = f"/{name.strip('/')}/"
    found = {document.path for document in home.documents.stored() if part in f"/{document.path}/"}
    return found or {document.path for document in home.documents.below([name])}

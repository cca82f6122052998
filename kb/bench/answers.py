"""What a search answers to a question, as texts that can be scored: its hits and packed contexts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ingest.scan import SHEETS
from kb.bench.scores import BUDGETS
from kb.types.passages import Hit, Passage, SearchResult
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.searching import asked
from retrieval.packing import pack
from retrieval.widening import widen

HITS = 50


@dataclass(frozen=True, slots=True)
class RankedText:
    """A text that a search returns."""

    text: str
    paths: tuple[str, ...]
    target: str
    id: str = ""
    """Id of its citation; empty if the search has none."""


@dataclass(frozen=True, slots=True)
class Response:
    hits: Sequence[RankedText]
    """Best first."""
    contexts: Sequence[Sequence[RankedText]]
    """One for each of BUDGETS."""


Search = Callable[[Sequence[str], str | None], Response]
"""Answers a question, given in one or several phrasings, about one target or all."""


def search_of(kb: KnowledgeBase) -> Search:
    """kb's own search, with its current settings."""

    def search(phrasings: Sequence[str], target: str | None) -> Response:
        found = without_sheets(kb.search_engine.find(*asked(kb, phrasings, target=target), limit=2 * HITS))
        return Response([text_of(hit, hit.shown) for hit in widen(found.hits, kb.catalog)[:HITS]], packed(found))

    return search


def packed(found: SearchResult) -> list[list[RankedText]]:
    """The contexts of the first HITS hits, one for each of BUDGETS."""
    texts = {hit.passage.citation.id: text_of(hit) for hit in found.hits}
    top = found.model_copy(update={"hits": found.hits[:HITS]})
    return [[texts[p.citation.id] for p in pack(top, budget_tokens=budget).passages] for budget in BUDGETS]


def text_of(hit: Hit, text: str = "") -> RankedText:
    """A hit with the paths of all its citations; `text` replaces the text of its passage."""
    citations = (hit.passage.citation, *hit.also_in)
    return RankedText(
        text or hit.passage.shown, tuple(c.path for c in citations), hit.passage.target, hit.passage.citation.id
    )


def without_sheets(found: SearchResult) -> SearchResult:
    """Drop the sheets that ship with kb: only the user's documents are measured."""
    return found.model_copy(update={"hits": tuple(hit for hit in found.hits if not is_sheet(hit.passage))})


def is_sheet(passage: Passage) -> bool:
    return passage.citation.path.startswith(f"{SHEETS.name}/")

"""Systems that answer a question from a home's documents: kb's own and the usual alternatives."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile

from ingest.scan import SHEETS
from kb.bench.scores import BUDGETS
from kb.catalog.words import match_expression, query_words
from kb.types.base import tokens_of
from kb.types.passages import Hit, Passage, SearchResult
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.searching import find
from retrieval.fusion import Fused, Lists, fuse
from retrieval.packing import pack
from retrieval.retriever import Retriever
from retrieval.widening import widen

HITS = 50
KB = "kb"

RANK_OFFSET = 60
"""Constant k of reciprocal rank fusion (Cormack, Clarke, Büttcher 2009)."""
WINDOW_CHARACTERS, WINDOW_OVERLAP = 1000, 200
"""LangChain's usual chunk size and overlap."""


@dataclass(frozen=True, slots=True)
class RankedText:
    """A text that a system returns."""

    text: str
    paths: tuple[str, ...]
    target: str
    id: str = ""
    """Id of its citation; empty if the system has none."""


@dataclass(frozen=True, slots=True)
class Response:
    hits: Sequence[RankedText]
    """Best first."""
    contexts: Sequence[Sequence[RankedText]]
    """One for each of BUDGETS."""


System = Callable[[Sequence[str], str | None], Response]
"""Answers a question, given in one or several phrasings, about one target or all."""


def own_system(kb: KnowledgeBase) -> System:
    """kb with its current settings."""
    return partial(_kb, kb)


def other_systems(kb: KnowledgeBase) -> dict[str, System]:
    """The alternatives, by name. Reads all documents."""
    ranked = kb.models.retriever()
    found: dict[str, System] = {
        "BM25 only": partial(_ranked, kb, replace(ranked, embedder=None)),
        f"BM25, {WINDOW_CHARACTERS}/{WINDOW_OVERLAP} windows": FixedWindows(kb),
    }
    if kb.models.embedder:
        found["dense only"] = partial(_ranked, kb, replace(ranked, fuse=partial(fuse, lexical_weight=0)))
        by_rank = replace(ranked, fuse=lambda lists, unembedded: reciprocal_rank_fusion(lists))
        found["reciprocal rank fusion"] = partial(_ranked, kb, by_rank)
    return found


def _kb(kb: KnowledgeBase, phrasings: Sequence[str], target: str | None) -> Response:
    found = _without_sheets(find(kb, phrasings, target=target, limit=2 * HITS))
    return Response([unit_of(hit, hit.shown) for hit in widen(found.hits, kb.catalog)[:HITS]], _packed(found))


def _ranked(kb: KnowledgeBase, retriever: Retriever, phrasings: Sequence[str], target: str | None) -> Response:
    scope = kb.targets.scope(target) if target else None
    found = _without_sheets(retriever.search(phrasings, targets=scope, limit=2 * HITS))
    return Response([unit_of(hit) for hit in found.hits[:HITS]], _packed(found))


def _packed(found: SearchResult) -> list[list[RankedText]]:
    units = {hit.passage.citation.id: unit_of(hit) for hit in found.hits}
    top = found.model_copy(update={"hits": found.hits[:HITS]})
    return [[units[p.citation.id] for p in pack(top, budget_tokens=budget).passages] for budget in BUDGETS]


def unit_of(hit: Hit, text: str = "") -> RankedText:
    """A hit with the paths of all its citations; `text` replaces the text of its passage."""
    citations = (hit.passage.citation, *hit.also_in)
    return RankedText(
        text or hit.passage.shown, tuple(c.path for c in citations), hit.passage.target, hit.passage.citation.id
    )


def _without_sheets(found: SearchResult) -> SearchResult:
    """Drop the sheets that ship with kb: only the user's documents are measured."""
    return found.model_copy(update={"hits": tuple(hit for hit in found.hits if not is_sheet(hit.passage))})


def is_sheet(passage: Passage) -> bool:
    return passage.citation.path.startswith(f"{SHEETS.name}/")


def reciprocal_rank_fusion(lists: Sequence[Lists]) -> list[Fused]:
    """The usual fusion: only ranks count, and all lists weigh the same."""
    scores: dict[int, float] = {}
    for ranking in (r for pair in lists for r in pair):
        for rank, chunk in enumerate(sorted(ranking, key=lambda c: (-ranking[c], c)), 1):
            scores[chunk] = scores.get(chunk, 0.0) + 1 / (RANK_OFFSET + rank)
    return [Fused(c, scores[c], None, None, 0) for c in sorted(scores, key=lambda c: (-scores[c], c))]


class FixedWindows:
    """A `System` that cuts documents into windows of fixed length and ranks them by BM25."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._targets = kb.targets
        self._db = sqlite3.connect(":memory:")
        self._db.execute("CREATE VIRTUAL TABLE piece USING fts5 (text, path UNINDEXED, target UNINDEXED)")
        self._db.executemany("INSERT INTO piece VALUES (?, ?, ?)", _windows(kb))

    def __call__(self, phrasings: Sequence[str], target: str | None) -> Response:
        words = query_words(" ".join(phrasings))
        rows = self._db.execute(
            "SELECT text, path, target FROM piece WHERE piece MATCH ? ORDER BY rank", (match_expression(words),)
        )
        scope = self._targets.scope(target) if target else None
        in_scope = (RankedText(text, (path,), own) for text, path, own in rows if scope is None or own in scope)
        hits = [unit for _, unit in zip(range(HITS), in_scope, strict=False)]
        return Response(hits, [_prefix(hits, budget) for budget in BUDGETS])


def _windows(kb: KnowledgeBase) -> Iterable[tuple[str, str, str]]:
    for document in kb.documents.stored():
        if document.path.startswith(f"{SHEETS.name}/"):
            continue
        text = kb.catalog.text(document.source)
        for start in range(0, len(text), WINDOW_CHARACTERS - WINDOW_OVERLAP):
            yield text[start : start + WINDOW_CHARACTERS], document.path, document.target


def _prefix(hits: Sequence[RankedText], budget: int) -> list[RankedText]:
    sizes = 0

    def fits(unit: RankedText) -> bool:
        nonlocal sizes
        sizes += tokens_of(unit.text)
        return sizes <= budget

    return list(takewhile(fits, hits))

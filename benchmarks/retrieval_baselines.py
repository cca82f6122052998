"""Score kb and the usual alternatives over the documents of a home, for a file of questions.

    KB_HOME=HOME python -m benchmarks.retrieval_baselines QUESTIONS.jsonl [--phrasings] [--out RESULT.json]

The alternatives are BM25 alone, BM25 over windows of fixed length, dense search alone, and reciprocal rank fusion. For
the format of QUESTIONS see `kb.bench.questions`.
"""

import argparse
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, islice
from pathlib import Path

import kb as knowledge
from benchmarks.origin import say_nothing, write_result
from ingest.scan import SHEETS
from kb.bench.answers import HITS, RankedText, Response, Search, packed, search_of, text_of, without_sheets
from kb.bench.questions import Question, load_questions
from kb.bench.retrieval import ask
from kb.bench.scores import BUDGETS, intervals, scores, seconds
from kb.catalog.words import match_expression, query_words
from kb.types.base import tokens_of
from kb.usecases.knowledge_base import KnowledgeBase
from retrieval.fusion import Fused, Lists, fuse
from retrieval.rerank import BY_FUSION
from retrieval.retriever import Retriever

RANK_OFFSET = 60
"""Constant k of reciprocal rank fusion (Cormack, Clarke, Büttcher 2009)."""
WINDOW_CHARACTERS, WINDOW_OVERLAP = 1000, 200
"""LangChain's usual chunk size and overlap."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("--phrasings", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with knowledge.open() as kb:
        searches = {"kb": search_of(kb), **alternatives(kb)}
        found = measured(kb, searches, load_questions(options.questions), phrasings=options.phrasings)
    write_result(options.out, {"phrasings": options.phrasings, "systems": found})


def measured(
    kb: KnowledgeBase, searches: Mapping[str, Search], questions: Sequence[Question], *, phrasings: bool
) -> dict[str, dict]:
    """The scores, intervals and times of some searches over the documents of `kb`, by name."""
    found = {}
    for name, search in searches.items():
        answered, _ = ask(kb, search, questions, phrasings=phrasings, progress=say_nothing)
        found[name] = {"scores": scores(answered), "intervals": intervals(answered), "seconds": seconds(answered)}
    return found


def alternatives(kb: KnowledgeBase) -> dict[str, Search]:
    """The alternatives, by name. Reads all documents."""
    ranked = replace(kb.models.retriever(), weights=BY_FUSION)
    found: dict[str, Search] = {
        "BM25 only": partial(_ranked, kb, replace(ranked, embedder=None)),
        f"BM25, {WINDOW_CHARACTERS}/{WINDOW_OVERLAP} windows": FixedWindows(kb),
    }
    if kb.models.embedder:
        found["dense only"] = partial(_ranked, kb, replace(ranked, fuse=partial(fuse, lexical_weight=0)))
        by_rank = replace(ranked, fuse=lambda lists, unembedded: reciprocal_rank_fusion(lists))
        found["reciprocal rank fusion"] = partial(_ranked, kb, by_rank)
    return found


def _ranked(kb: KnowledgeBase, retriever: Retriever, phrasings: Sequence[str], target: str | None) -> Response:
    scope = kb.targets.scope(target) if target else None
    found = without_sheets(retriever.search(phrasings, targets=scope, limit=2 * HITS))
    return Response([text_of(hit) for hit in found.hits[:HITS]], packed(found))


def reciprocal_rank_fusion(lists: Sequence[Lists]) -> list[Fused]:
    """The usual fusion: only ranks count, and all lists weigh the same."""
    sums: dict[int, float] = {}
    for ranking in (r for pair in lists for r in pair):
        for rank, chunk in enumerate(sorted(ranking, key=lambda c: (-ranking[c], c)), 1):
            sums[chunk] = sums.get(chunk, 0.0) + 1 / (RANK_OFFSET + rank)
    return [Fused(c, sums[c], None, None, 0) for c in sorted(sums, key=lambda c: (-sums[c], c))]


class FixedWindows:
    """A search that cuts documents into windows of fixed length and ranks them by BM25."""

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
        hits = list(islice(in_scope, HITS))
        sizes = list(accumulate(tokens_of(hit.text) for hit in hits))
        contexts = [[hit for hit, size in zip(hits, sizes, strict=True) if size <= budget] for budget in BUDGETS]
        return Response(hits, contexts)


def _windows(kb: KnowledgeBase) -> Iterable[tuple[str, str, str]]:
    for document in kb.documents.stored():
        if document.path.startswith(f"{SHEETS.name}/"):
            continue
        text = kb.catalog.text(document.source)
        for start in range(0, len(text), WINDOW_CHARACTERS - WINDOW_OVERLAP):
            yield text[start : start + WINDOW_CHARACTERS], document.path, document.target


if __name__ == "__main__":
    main()

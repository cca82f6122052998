"""Fit the weight of the lexical score to a file of questions, and estimate its score on targets that it has not seen.

    KB_HOME=HOME python -m benchmarks.fusion_weight QUESTIONS.jsonl --out RESULT.json

The same candidates are ranked with each weight. The estimate leaves one target out at a time: the weight is fitted to
the questions about the other targets. For the format of QUESTIONS see `kb.bench.questions`.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean

import kb as knowledge
from benchmarks.origin import write_result
from kb.bench.answers import HITS, text_of
from kb.bench.questions import Question, load_questions
from kb.bench.retrieval import asked_of, rank_of, scope_of
from kb.bench.scores import bootstrap, reciprocal_rank
from kb.usecases.knowledge_base import KnowledgeBase
from retrieval.fusion import fuse
from retrieval.rerank import BY_FUSION

WEIGHTS = tuple(n / 20 for n in range(21))

Row = Sequence[float]
"""The reciprocal rank of a question's first answer with each of WEIGHTS."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    questions = load_questions(options.questions)
    if len({question.target for question in questions if question.evidence}) < 2:
        raise SystemExit("the questions are about one target, so none can be left out")
    with knowledge.open() as kb:
        modes = {"query alone": False, "query and phrasings": True}
        found = {mode: fit(kb, questions, phrasings=phrasings) for mode, phrasings in modes.items()}
    write_result(options.out, {"questions": len(questions), "fitted": found})


def fit(kb: KnowledgeBase, questions: Sequence[Question], *, phrasings: bool) -> dict[str, object]:
    """The best weight by MRR@10 over all questions, its MRR@10 on targets left out, and the MRR@10 of each weight."""
    answerable = [question for question in questions if question.evidence]
    rows = [_row(kb, question, phrasings=phrasings) for question in answerable]
    means = [fmean(column) for column in zip(*rows, strict=True)]
    held_out = cross_validated(rows, [question.target for question in answerable])
    return {
        "lexical_weight": WEIGHTS[means.index(max(means))],
        "cross_validated": round(fmean(held_out), 4),
        "interval": [round(bound, 3) for bound in bootstrap(held_out)],
        "by_weight": {weight: round(mean, 4) for weight, mean in zip(WEIGHTS, means, strict=True)},
    }


def cross_validated(rows: Sequence[Row], targets: Sequence[str | None]) -> list[float]:
    """A value for each row, with the weight that is best for the rows of all other targets."""
    pairs, held_out = list(zip(rows, targets, strict=True)), []
    for left_out in set(targets):
        sums = [sum(column) for column in zip(*(row for row, target in pairs if target != left_out), strict=True)]
        best = sums.index(max(sums))
        held_out += [row[best] for row, target in pairs if target == left_out]
    return held_out


def _row(kb: KnowledgeBase, question: Question, *, phrasings: bool) -> Row:
    retriever = kb.models.retriever()
    candidates = retriever.candidates(asked_of(question, phrasings=phrasings), targets=scope_of(kb, question))
    fusions = (partial(fuse, lexical_weight=weight) for weight in WEIGHTS)
    ranked = (replace(retriever, fuse=fusion, weights=BY_FUSION).rank(candidates, limit=HITS) for fusion in fusions)
    return [reciprocal_rank(rank_of(question, [text_of(hit) for hit in found.hits])) for found in ranked]


if __name__ == "__main__":
    main()

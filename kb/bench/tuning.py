"""Fit the weight of the lexical score to questions, and estimate its score on other questions."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from kb.bench.questions import Question
from kb.bench.retrieval import Progress, asked_of, rank_of, scope_of
from kb.bench.scores import reciprocal_rank
from kb.bench.systems import HITS, unit_of
from kb.types.base import Frozen
from kb.usecases.knowledge_base import KnowledgeBase
from retrieval.fusion import fuse

WEIGHTS = tuple(n / 20 for n in range(21))
FOLDS = 5


class Tuning(Frozen):
    """The lexical weight that ranks best, and its expected score."""

    lexical_weight: float
    cross_validated: float
    """MRR@10 on held-out questions, by cross-validation."""
    by_weight: dict[float, float]
    """MRR@10 on all questions, for each weight."""


def fit(kb: KnowledgeBase, questions: Sequence[Question], *, phrasings: bool, progress: Progress) -> Tuning:
    """Rank the same candidates with every weight and choose the best."""
    answerable = [q for q in questions if q.evidence]
    values = [list[float]() for _ in WEIGHTS]
    for number, question in enumerate(answerable, 1):
        for column, value in zip(values, _by_weight(kb, question, phrasings=phrasings), strict=True):
            column.append(value)
        progress(number, len(answerable))
    best = partial(_best_weight, values)
    folds = [range(fold, len(answerable), FOLDS) for fold in range(FOLDS)]
    held_out = [values[best(set(range(len(answerable))) - set(fold))][i] for fold in folds for i in fold]
    means = {w: round(sum(column) / len(column), 4) for w, column in zip(WEIGHTS, values, strict=True)}
    return Tuning(
        lexical_weight=WEIGHTS[best(range(len(answerable)))],
        cross_validated=round(sum(held_out) / len(held_out), 4),
        by_weight=means,
    )


def _best_weight(values: Sequence[Sequence[float]], indices: Iterable[int]) -> int:
    indices = list(indices)
    return max(range(len(values)), key=lambda w: sum(values[w][i] for i in indices))


def _by_weight(kb: KnowledgeBase, question: Question, *, phrasings: bool) -> list[float]:
    retriever = kb.models.retriever()
    candidates = retriever.candidates(asked_of(question, phrasings=phrasings), targets=scope_of(kb, question))
    fusions = (partial(fuse, lexical_weight=weight) for weight in WEIGHTS)
    ranked = (replace(retriever, fuse=fusion).rank(candidates, limit=HITS) for fusion in fusions)
    return [reciprocal_rank(rank_of(question, [unit_of(hit) for hit in found.hits])) for found in ranked]

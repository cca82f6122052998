"""Fit the weights by which the first candidates are ranked again, and score them on targets left out of the fit.

    KB_HOME=HOME python -m benchmarks.ranking_weights QUESTIONS.jsonl --out RESULT.json

The query and each phrasing of a question are an example. The fit makes the passages that answer likely among the
candidates (a softmax over the scores). The scores leave one target out at a time: its questions are ranked with the
weights fitted to those about all others. For the format of QUESTIONS see `kb.bench.questions`.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

import kb as knowledge
from benchmarks.origin import say_nothing, write_result
from kb.bench.answers import HITS, Response, packed, text_of, without_sheets
from kb.bench.questions import Question, load_questions
from kb.bench.retrieval import ask, asked_of, scope_of
from kb.bench.scores import MEASURES, Answered, bootstrap, intervals, scores
from kb.usecases.knowledge_base import KnowledgeBase
from retrieval.rerank import BY_FUSION, RERANKED, WEIGHTS, Features, features
from retrieval.widening import widen

DECAY = 0.003
"""Weight of the squared distance from fusion's own order, in units of the features' spreads."""
SPREAD = 2.5
"""Divides the weights: the logarithms of odds are so much farther apart than the scores of fusion."""
MODES = {"query alone": False, "query and phrasings": True}


@dataclass(frozen=True, slots=True)
class Example:
    target: str | None
    weight: float
    features: NDArray[np.float64]
    """Shape (candidates, features)."""
    answers: NDArray[np.bool_]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    questions = load_questions(options.questions)
    targets = sorted({q.target for q in questions}, key=str)
    with knowledge.open() as kb:
        found = [one for q in questions if q.evidence for one in examples(kb, q)]
        weights = {
            "by fusion alone": dict.fromkeys(targets, BY_FUSION),
            "left out": {t: fit([one for one in found if one.target != t]) for t in targets},
            "kb's weights": dict.fromkeys(targets, WEIGHTS),
        }
        answered = {name: _asked(kb, questions, own) for name, own in weights.items()}
    fitted = {"all": fit(found), **{str(t): own for t, own in weights["left out"].items()}}
    result = {
        "questions": len(questions),
        "examples": len(found),
        "weights": {n: w._asdict() for n, w in fitted.items()},
    }
    write_result(options.out, result | _compared(answered))


def examples(kb: KnowledgeBase, question: Question) -> list[Example]:
    """One for the query and each phrasing, of those that have an answer among the candidates."""
    retriever, texts, found = kb.models.retriever(), asked_of(question, phrasings=True), []
    for text in texts:
        candidates = retriever.candidates([text], targets=scope_of(kb, question))
        fused = retriever.fuse(candidates.lists, candidates.unembedded)[:RERANKED]
        passages = kb.catalog.passages([one.chunk for one in fused])
        answers = [question.is_answered_by(p.shown, (p.citation.path,)) for p in passages]
        if any(answers):
            own = features(list(zip(fused, passages, strict=True)), [text])
            found.append(Example(question.target, 1 / len(texts), np.array(own), np.array(answers)))
    return found


def fit(found: Sequence[Example]) -> Features:
    """The weights with the least loss."""
    import torch

    every = torch.tensor(np.concatenate([one.features for one in found]))
    mean, spread = every.mean(0), every.std(0) + 1e-6
    inputs = torch.zeros(len(found), RERANKED, every.shape[1], dtype=every.dtype)
    answers, absent = (
        torch.zeros(len(found), RERANKED, dtype=torch.bool),
        torch.ones(len(found), RERANKED, dtype=torch.bool),
    )
    for row, one in enumerate(found):
        inputs[row, : len(one.answers)] = (torch.tensor(one.features) - mean) / spread
        answers[row, : len(one.answers)] = torch.tensor(one.answers)
        absent[row, : len(one.answers)] = False
    share = torch.tensor([one.weight for one in found])
    start = torch.zeros(every.shape[1], dtype=every.dtype)
    start[0] = spread[0]
    weights = start.clone().requires_grad_()
    optimiser = torch.optim.LBFGS([weights], max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        logits = (inputs @ weights).masked_fill(absent, -torch.inf)
        right = torch.logsumexp(logits.masked_fill(~answers, -torch.inf), 1)
        lost = ((torch.logsumexp(logits, 1) - right) * share).sum() / share.sum()
        lost = lost + DECAY * (weights - start).square().sum()
        lost.backward()  # type: ignore[no-untyped-call]
        return lost

    optimiser.step(loss)  # type: ignore[no-untyped-call]
    return Features(*(round(float(w), 2) for w in weights.detach() / spread / SPREAD))


def _asked(
    kb: KnowledgeBase, questions: Sequence[Question], weights: dict[str | None, Features]
) -> dict[str, list[Answered]]:
    """The answers in each of MODES, with the weights of each question's target; no question is refused."""
    retriever = kb.models.retriever()

    def search(phrasings: Sequence[str], target: str | None) -> Response:
        scope = kb.targets.scope(target) if target else None
        found = replace(retriever, weights=weights[target]).search(phrasings, targets=scope, limit=2 * HITS)
        found = without_sheets(found)
        return Response([text_of(hit, hit.shown) for hit in widen(found.hits, kb.catalog)[:HITS]], packed(found))

    return {
        mode: ask(kb, search, questions, phrasings=phrasings, progress=say_nothing)[0]
        for mode, phrasings in MODES.items()
    }


def _compared(answered: dict[str, dict[str, list[Answered]]]) -> dict[str, object]:
    """For each mode and way of ranking the scores, and what it gains on fusion alone, with intervals."""
    result: dict[str, object] = {}
    for mode in MODES:
        own = {name: [one for one in by_mode[mode] if one.answerable] for name, by_mode in answered.items()}
        before = own["by fusion alone"]
        result[mode] = {
            name: {"scores": scores(asked), "intervals": intervals(asked), "gain": _gain(before, asked)}
            for name, asked in own.items()
        }
    return result


def _gain(before: Sequence[Answered], after: Sequence[Answered]) -> dict[str, list[float]]:
    """The mean difference of each measure, and its interval."""
    pairs = list(zip(before, after, strict=True))
    gains = {name: [float(measure(b)) - measure(a) for a, b in pairs] for name, measure in MEASURES.items()}
    return {name: [round(v, 4) for v in (fmean(own), *bootstrap(own))] for name, own in gains.items()}


if __name__ == "__main__":
    main()

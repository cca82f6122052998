"""Train the query adaptor of a home's model, and score search on targets that neither it nor its training saw.

    KB_HOME=HOME python -m benchmarks.query_adaptor QUESTIONS.jsonl --out RESULT.json [--weights ADAPTOR.npy]

The adaptor is a matrix: a query vector plus its product with the matrix replaces the query vector. It is trained to
give the passages that answer a question a higher cosine than the nearest others. The scores leave one target out at a
time: its questions are asked with an adaptor trained on those of all others. `--weights` stores one trained on all. For
the format of QUESTIONS see `kb.bench.questions`; their phrasings count as further questions.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

import kb as knowledge
from benchmarks.origin import say_nothing, write_result
from kb.bench.answers import search_of
from kb.bench.questions import Question, load_questions
from kb.bench.retrieval import ask, asked_of, scope_of
from kb.bench.scores import MEASURES, Answered, bootstrap, intervals, scores
from kb.types.embedding import Vectors
from kb.usecases.knowledge_base import KnowledgeBase

GOLD, CANDIDATES = 16, 96
"""Most passages of an example that answer, and most of all."""
EPOCHS, BATCH, RATE = 2, 32, 1e-3
TEMPERATURE = 0.05
DECAY = 0.01
"""Weight of the squared entries of the matrix in the loss."""
MODES = {"query alone": False, "query and phrasings": True}


@dataclass(frozen=True, slots=True)
class Example:
    target: str | None
    query: Vectors
    """Shape (dimensions,)."""
    passages: Vectors
    """Shape (CANDIDATES, dimensions); the last ones may be zero."""
    answers: int
    """Number of leading passages that answer."""
    others: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--weights", type=Path)
    options = parser.parse_args()
    questions = load_questions(options.questions)
    with knowledge.open() as kb:
        kb.models.embedder.adaptor = None
        found = [one for q in questions if q.evidence for one in examples(kb, q)]
        answered = {"without": _asked(kb, questions)}
        adaptors = {t: train([one for one in found if one.target != t]) for t in {q.target for q in questions}}
        answered["left_out"] = _asked(kb, questions, adaptors)
    if options.weights:
        np.save(options.weights, train(found).astype(np.float16))
    write_result(options.out, {"questions": len(questions), "examples": len(found), **_compared(**answered)})


def examples(kb: KnowledgeBase, question: Question) -> list[Example]:
    """One for the query and for each phrasing."""
    paths = {e.path for e in question.evidence}
    chunks = list(kb.catalog.chunks_of(paths))
    passages = zip(chunks, kb.catalog.passages(chunks), strict=True)
    gold = {chunk for chunk, p in passages if question.is_answered_by(p.shown, (p.citation.path,))}
    asked = asked_of(question, phrasings=True)
    queries = kb.models.embedder.embed_queries(asked)
    lists = kb.models.retriever().candidates(asked, targets=scope_of(kb, question)).lists
    found = []
    for query, (_, dense) in zip(queries, lists, strict=True):
        owners, windows = kb.catalog.vectors(kb.models.embedder.fingerprint, chunks=gold | dense.keys())
        cosines = windows @ query
        nearest = np.argsort(-cosines, kind="stable")
        first = nearest[np.sort(np.unique(owners[nearest], return_index=True)[1])]  # the nearest window of each chunk
        answers = [row for row in first if owners[row] in gold][:GOLD]
        others = [row for row in first if owners[row] not in gold][: CANDIDATES - len(answers)]
        rows = np.zeros((CANDIDATES, windows.shape[1]), np.float32)
        rows[: len(answers) + len(others)] = windows[[*answers, *others]]
        if answers:
            found.append(Example(question.target, query, rows, len(answers), len(others)))
    return found


def train(found: Sequence[Example]) -> Vectors:
    """The matrix, shape (dimensions, dimensions)."""
    import torch

    torch.manual_seed(0)
    queries = torch.tensor(np.stack([one.query for one in found]))
    passages = torch.tensor(np.stack([one.passages for one in found]))
    place = torch.arange(CANDIDATES)
    answers = place < torch.tensor([[one.answers] for one in found])
    absent = place >= torch.tensor([[one.answers + one.others] for one in found])
    matrix = torch.zeros(queries.shape[1], queries.shape[1], requires_grad=True)
    optimiser = torch.optim.Adam([matrix], lr=RATE)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(found)).split(BATCH):
            adapted = torch.nn.functional.normalize(queries[batch] + queries[batch] @ matrix, dim=1)
            logits = torch.einsum("npd,nd->np", passages[batch], adapted) / TEMPERATURE
            logits = logits.masked_fill(absent[batch], -torch.inf)
            right = torch.logsumexp(logits.masked_fill(~answers[batch], -torch.inf), 1)
            loss = (torch.logsumexp(logits, 1) - right).mean() + DECAY * matrix.square().sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return matrix.detach().numpy()


def _asked(
    kb: KnowledgeBase, questions: Sequence[Question], adaptors: dict[str | None, Vectors] | None = None
) -> dict[str, list[Answered]]:
    """The answers in each of MODES, with the adaptor of each question's target."""
    found: dict[str, list[Answered]] = {mode: [] for mode in MODES}
    for target in sorted({q.target for q in questions}, key=str):
        own = [q for q in questions if q.target == target]
        kb.models.embedder.adaptor = adaptors[target] if adaptors else None
        for mode, phrasings in MODES.items():
            found[mode] += ask(kb, search_of(kb), own, phrasings=phrasings, progress=say_nothing)[0]
    return found


def _compared(**answered: dict[str, list[Answered]]) -> dict:
    result: dict = {}
    for mode in MODES:
        own = {name: by_mode[mode] for name, by_mode in answered.items()}
        result[mode] = {name: {"scores": scores(a), "intervals": intervals(a)} for name, a in own.items()}
        pairs = [(a, b) for a, b in zip(own["without"], own["left_out"], strict=True) if a.answerable]
        gains = {name: [float(measure(b)) - measure(a) for a, b in pairs] for name, measure in MEASURES.items()}
        result[mode]["gain"] = {n: [round(v, 4) for v in (fmean(own), *bootstrap(own))] for n, own in gains.items()}
    return result


if __name__ == "__main__":
    main()

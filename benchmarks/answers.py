"""Measure how many questions a model can answer from what it is shown, and how many characters that takes.

    KB_HOME=HOME python -m benchmarks.answers QUESTIONS.jsonl --out benchmarks/results/answers.json

HOME has the documents that QUESTIONS were written for; both are private. A question counts as answered if one shown
passage, with its headings and the header of its table, contains all strings that the question requires.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

import kb as knowledge
from benchmarks.origin import write_result
from kb.bench.questions import Question, load_questions
from kb.bench.retrieval import asked_of
from kb.bench.scores import bootstrap
from kb.types.passages import SearchResult
from kb.usecases.knowledge_base import KnowledgeBase
from kb.views.hits import answering_lines

BUDGETS = (500, 1000, 2000, 4000)
"""In tokens."""
Shown = tuple[int, list[tuple[str, str]]]
"""The characters shown, and the paths and texts of the passages."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    questions = [q for q in load_questions(options.questions) if q.evidence]
    with knowledge.open() as kb:
        result = {
            mode: {name: _measured(questions, show, phrasings=own) for name, show in _ways(kb)}
            for mode, own in {"query alone": False, "query and phrasings": True}.items()
        }
    write_result(options.out, result)


def _ways(kb: KnowledgeBase) -> Iterator[tuple[str, Callable[[list[str], str | None], Shown]]]:
    yield "kb search", lambda asked, target: _lines(kb.search(asked, target=target))
    yield "kb context", lambda asked, target: _lines(kb.answers(asked, target=target))
    for budget in BUDGETS:
        yield f"kb context --budget {budget}", lambda asked, target, budget=budget: _whole(kb, asked, target, budget)


def _lines(found: SearchResult) -> Shown:
    shown = [hit for hit in found.hits if hit.excerpt]
    texts = [(h.passage.citation.path, "\n".join((h.passage.trail, h.passage.lead, *h.excerpt))) for h in shown]
    return len(answering_lines(found).text), texts


def _whole(kb: KnowledgeBase, asked: list[str], target: str | None, budget: int) -> Shown:
    packed = kb.context(asked, target=target, budget_tokens=budget)
    return len(packed.text), [(passage.citation.path, passage.shown) for passage in packed.passages]


def _measured(
    questions: Sequence[Question], show: Callable[[list[str], str | None], Shown], *, phrasings: bool
) -> dict[str, object]:
    shown = [(question, show(asked_of(question, phrasings=phrasings), question.target)) for question in questions]
    answered = [any(q.is_answered_by(text, (path,)) for path, text in texts) for q, (_, texts) in shown]
    return {
        "answered": round(fmean(answered), 4),
        "interval": [round(bound, 3) for bound in bootstrap(answered)],
        "characters": round(fmean(characters for _, (characters, _) in shown)),
    }


if __name__ == "__main__":
    main()

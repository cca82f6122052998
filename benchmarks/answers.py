"""Measure how many questions a model can answer from what it is shown, and how many characters that takes.

    KB_HOME=HOME python -m benchmarks.answers QUESTIONS.jsonl --out benchmarks/results/answers.json

HOME has the documents that QUESTIONS were written for; both are private. A question counts as answered if one shown
passage, with its headings and the header of its table, contains all strings that the question requires. Of the pages of
`kb context` only what they show counts, and all that they print is read.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean, median

import kb as knowledge
from benchmarks.origin import write_result
from kb.bench.questions import Question, load_questions
from kb.bench.retrieval import asked_of
from kb.bench.scores import bootstrap
from kb.types.passages import SearchResult
from kb.usecases.knowledge_base import KnowledgeBase
from kb.views.hits import answer, found_passages

BUDGETS = (500, 1000, 2000, 4000)
"""In tokens."""
PAGES = 5
"""Most pages that a reader asks for."""
WITHIN = (250, 350, 500, 700, 1000, 2000)
"""Characters within which a reader of pages may find the answer."""
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
            | _by_pages(kb, questions, phrasings=own)
            for mode, own in {"query alone": False, "query and phrasings": True}.items()
        }
    write_result(options.out, result)


def _ways(kb: KnowledgeBase) -> Iterator[tuple[str, Callable[[list[str], str | None], Shown]]]:
    yield "kb search", lambda asked, target: _lines(kb.search(asked, target=target))
    for budget in BUDGETS:
        yield f"kb context --budget {budget}", lambda asked, target, budget=budget: _whole(kb, asked, target, budget)


def _lines(found: SearchResult) -> Shown:
    shown = [hit for hit in found.hits if hit.excerpt]
    texts = [(h.passage.citation.path, "\n".join((h.passage.trail, h.passage.lead, *h.excerpt))) for h in shown]
    return sum(len(f"{one.title}\n{one.text}\n{one.id} {one.place}\n") for one in found_passages(found).passages), texts


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


def _by_pages(kb: KnowledgeBase, questions: Sequence[Question], *, phrasings: bool) -> dict[str, object]:
    """What a reader has read who stops at the page that answers, or after one page, two pages and so on."""
    read = [list(_pages(kb, question, asked_of(question, phrasings=phrasings))) for question in questions]
    until = [(sum(n for n, _ in pages), any(answers for _, answers in pages)) for pages in read]
    within = {f"{most} characters": round(fmean(answers and n <= most for n, answers in until), 4) for most in WITHIN}
    pages = {f"kb context, at most {n} pages": _until([pages[:n] for pages in read]) for n in range(1, PAGES + 1)}
    return pages | {"kb context, answered within": within}


def _pages(kb: KnowledgeBase, question: Question, asked: list[str]) -> Iterator[tuple[int, bool]]:
    """The characters of each page up to the one that answers, and whether it does."""
    seen: dict[str, str] = {}
    for page in range(1, PAGES + 1):
        found = kb.answers(asked, target=question.target, page=page)
        answered = False
        for hit in found.hits:
            place = hit.passage.citation
            heading = (hit.passage.title, *place.section)[-1]
            seen[place.id] = "\n".join((seen.get(place.id, heading), *hit.excerpt))
            answered |= question.is_answered_by(seen[place.id], (place.path,))
        shown = answer(found, target=question.target)
        notes = [f"note: {note}" for note in shown.notes]
        yield len("\n".join((*notes, shown.text, f"(more: --page {page + 1})\n"))), answered
        if answered:
            return


def _until(read: Sequence[Sequence[tuple[int, bool]]]) -> dict[str, object]:
    answered = [any(answers for _, answers in pages) for pages in read]
    characters = [sum(characters for characters, _ in pages) for pages in read]
    enough = [n for n, answers in zip(characters, answered, strict=True) if answers]
    return {
        "answered": round(fmean(answered), 4),
        "interval": [round(bound, 3) for bound in bootstrap(answered)],
        "characters": round(fmean(characters)),
        "median characters": round(median(characters)),
        "characters of the answered": round(fmean(enough)),
        "requests": round(fmean(map(len, read)), 2),
    }


if __name__ == "__main__":
    main()

"""Measure how often `kb search` says that the manuals have no answer, for unanswerable questions and for others.

    KB_HOME=HOME python -m benchmarks.abstention QUESTIONS.jsonl --out results/abstention.json

HOME has the documents that QUESTIONS were written for; both are private. An answerable question is made unanswerable by
moving it to another family of chips: the names of its chips are replaced by the other's. It is kept if the other's
documents contain none of its identifiers and acronyms as words, and not all strings that an answer must contain.
"""

import argparse
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import kb as knowledge
from benchmarks.origin import write_result
from kb.bench.questions import Question, load_questions
from kb.targets import Targets
from kb.types.passages import Status
from kb.usecases.knowledge_base import KnowledgeBase

MOVES = 2
"""Number of attempts to move each question."""

WORD = re.compile(r"[A-Za-z0-9]+(?:[_.:\-][A-Za-z0-9]+)*")
TELLING = re.compile(r"\d.*[A-Za-z]|[A-Za-z].*\d|_|[a-z][A-Z]|[A-Z]{2}")
"""Matches identifiers and acronyms."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    questions = load_questions(options.questions)
    with knowledge.open() as kb:
        texts = {name: _text(kb, kb.targets.scope(name)) for name in {q.target for q in questions if q.target}}
        moved = {q.id: list(_moved(q, kb.targets, texts)) for q in questions if q.target and q.evidence}
        result = _rates(kb, questions, moved)
    write_result(options.out, result)


def _rates(kb: KnowledgeBase, questions: Sequence[Question], moved: dict[str, list[Question]]) -> dict:
    groups = {
        "answerable, query alone": [(q.target, [q.query]) for q in questions if q.evidence],
        "answerable, each phrasing alone": [(q.target, [p]) for q in questions if q.evidence for p in q.phrasings],
        "answerable, with phrasings": [(q.target, [q.query, *q.phrasings]) for q in questions if q.evidence],
        "moved to another chip": [(m.target, [m.query]) for q in questions for m in moved.get(q.id, ())],
        "written by hand, query alone": [(q.target, [q.query]) for q in questions if not q.evidence],
        "written by hand, with phrasings": [(q.target, [q.query, *q.phrasings]) for q in questions if not q.evidence],
    }
    return {name: {"questions": len(asked), "refused": _share(kb, asked)} for name, asked in groups.items()}


def _share(kb: KnowledgeBase, asked: Sequence[tuple[str | None, list[str]]]) -> float:
    found = [kb.search(phrasings, target=target, limit=1).status is Status.INSUFFICIENT for target, phrasings in asked]
    return round(sum(found) / max(1, len(found)), 4)


def _moved(question: Question, targets: Targets, texts: dict[str, str]) -> Iterator[Question]:
    """The question, moved to other families that cannot answer it."""
    chance = random.Random(question.id)
    others = [name for name in sorted(texts) if not targets.family(name) & targets.family(question.target) - {"any"}]
    for name in chance.sample(others, k=min(MOVES, len(others))):
        query = _renamed(question.query, targets.family(question.target), name, targets)
        telling = [w for w in WORD.findall(query) if TELLING.search(w) and w != name]
        is_answered = any(all(_holds(texts[name], group) for group in e.must) for e in question.evidence)
        if telling and not is_answered and not any(_has_word(texts[name], word) for word in telling):
            yield question.model_copy(update={"target": name, "query": query})


def _renamed(query: str, family: frozenset[str], name: str, targets: Targets) -> str:
    spellings = sorted((s for t in targets if t.name in family for s in (t.name, *t.aliases)), key=len, reverse=True)
    joined = "|".join("[-_ ]?".join(re.findall(r"[a-z]+|\d+", spelling)) for spelling in spellings)
    return re.sub(rf"(?<![A-Za-z0-9])(?:{joined})(?![A-Za-z0-9])", name, query, flags=re.IGNORECASE)


def _text(kb: KnowledgeBase, scope: frozenset[str]) -> str:
    return "\n".join(kb.catalog.text(d.source) for d in kb.documents.stored() if d.target in scope).lower()


def _holds(text: str, group: str) -> bool:
    return any(option.strip().lower() in text for option in group.split("|"))


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<![a-z0-9_]){re.escape(word.lower())}(?![a-z0-9_])", text) is not None


if __name__ == "__main__":
    main()

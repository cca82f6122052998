"""Ask a home a file of questions and score the answers."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence

from kb.bench.answers import RankedText, Response, Search, is_sheet, search_of
from kb.bench.questions import Question
from kb.bench.scores import BUDGETS, Answered, intervals, scores, seconds
from kb.types.base import Frozen
from kb.usecases.knowledge_base import KnowledgeBase
from retrieval.fusion import Scores

FIRST = 5
"""Leading hits checked for wrong targets and for invalid citations."""
CONFUSING = 3
"""Leading hits checked for a sibling's value."""
MISSED_TOKENS = 4000
"""A question counts as missed if a packed context of this many tokens does not answer it."""

Progress = Callable[[int, int], None]


def ask(
    kb: KnowledgeBase, search: Search, questions: Sequence[Question], *, phrasings: bool, progress: Progress
) -> tuple[list[Answered], dict[str, Response]]:
    """The judged answers of a search to questions about the documents of `kb`, and its responses by question id.

    Raises:
        TargetError: a question names an unknown target.
    """
    answered, responses = [], {}
    for number, question in enumerate(questions, 1):
        began = time.perf_counter()
        response = search(asked_of(question, phrasings=phrasings), question.target)
        answered.append(_judged(kb, question, response, time.perf_counter() - began))
        responses[question.id] = response
        progress(number, len(questions))
    return answered, responses


def _judged(kb: KnowledgeBase, question: Question, response: Response, seconds: float) -> Answered:
    hits, scope = response.hits, scope_of(kb, question)
    first = hits[:FIRST]
    return Answered(
        id=question.id,
        kind=question.kind,
        target=question.target or "",
        answerable=bool(question.evidence),
        refused=not hits,
        rank=rank_of(question, hits),
        within=tuple(any(question.is_answered_by(one.text, one.paths) for one in texts) for texts in response.contexts),
        wrong=sum(scope is not None and hit.target not in scope for hit in first) / max(1, len(first)),
        confused=any(question.is_confused_by(hit.text, hit.paths) for hit in hits[:CONFUSING])
        if question.reject
        else None,
        invalid=sum(bool(hit.id) and not kb.documents.stands(hit.id) for hit in first),
        seconds=seconds,
    )


def groups(answered: Sequence[Answered]) -> dict[str, dict[str, float]]:
    """Scores by kind and by target."""
    parts: dict[str, list[Answered]] = defaultdict(list)
    for one in answered:
        parts[f"kind {one.kind}"].append(one)
        parts[f"target {one.target or '(none)'}"].append(one)
    return {name: {"questions": len(parts[name])} | scores(parts[name]) for name in sorted(parts)}


def ceiling(kb: KnowledgeBase, questions: Sequence[Question]) -> tuple[float, list[str]]:
    """Share of answerable questions that a single stored passage answers, and the ids of the others."""
    wanted = {e.path for q in questions for e in q.evidence}
    texts: dict[str, list[str]] = defaultdict(list)
    for passage in kb.catalog.passages(list(kb.catalog.chunks_of(wanted))):
        if not is_sheet(passage):
            texts[passage.citation.path].append(passage.shown)
    answerable = [q for q in questions if q.evidence]
    missed = [
        q.id
        for q in answerable
        if not any(q.is_answered_by(text, (e.path,)) for e in q.evidence for text in texts[e.path])
    ]
    return 1 - len(missed) / max(1, len(answerable)), missed


class Missed(Frozen):
    """A question that the packed context of MISSED_TOKENS does not answer, and why."""

    id: str
    cause: str
    hit: int | None
    """Rank of the first hit that answers; None if none of HITS does."""
    lexical: int | None
    dense: int | None
    """Rank of the first candidate that answers, for the best phrasing; None if no candidate does."""


class Report(Frozen):
    """The scores of kb's own search."""

    questions: int
    phrasings: bool
    model: str | None
    stored: dict[str, int]
    ceiling: float
    """Share of the answerable questions that a single stored passage answers."""
    unreachable: tuple[str, ...]
    """Ids of the answerable questions that no single stored passage answers."""
    scores: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    """95 % bootstrap intervals over the questions."""
    seconds: dict[str, float]
    """Time for one question: a search for many hits, and one context for each of BUDGETS."""
    groups: dict[str, dict[str, float]]
    """Scores by kind and by target."""
    missed: tuple[Missed, ...]


def measure(
    kb: KnowledgeBase, questions: Sequence[Question], *, phrasings: bool, progress: Progress
) -> tuple[Report, dict[str, Response]]:
    """The scores of kb, and its responses by question id.

    Raises:
        TargetError: a question names an unknown target.
    """
    share, unreachable = ceiling(kb, questions)
    answered, run = ask(kb, search_of(kb), questions, phrasings=phrasings, progress=progress)
    lost = {a.id: a.rank for a in answered if a.answerable and not a.within[BUDGETS.index(MISSED_TOKENS)]}
    report = Report(
        questions=len(questions),
        phrasings=phrasings,
        model=kb.models.embedder.fingerprint if kb.models.embedder else None,
        stored=kb.catalog.counts(),
        ceiling=round(share, 4),
        unreachable=tuple(unreachable),
        scores=scores(answered),
        intervals=intervals(answered),
        seconds=seconds(answered),
        groups=groups(answered),
        missed=tuple(_missed(kb, q, lost[q.id], unreachable, phrasings=phrasings) for q in questions if q.id in lost),
    )
    return report, run


def _missed(
    kb: KnowledgeBase, question: Question, hit: int | None, unreachable: Collection[str], *, phrasings: bool
) -> Missed:
    asked = asked_of(question, phrasings=phrasings)
    lists = kb.models.retriever().candidates(asked, targets=scope_of(kb, question)).lists
    lexical, dense = (_best_rank(kb, question, [pair[side] for pair in lists]) for side in (0, 1))
    if question.id in unreachable:
        cause = "no single stored passage answers it"
    elif lexical is None and dense is None:
        cause = "different wording: neither search has it among its candidates"
    elif lexical is None or dense is None:
        found_by = "dense" if lexical is None else "lexical"
        cause = f"different wording: only {found_by} search has it among its candidates"
    else:
        cause = "ranked low"
    return Missed(id=question.id, cause=cause, hit=hit, lexical=lexical, dense=dense)


def _best_rank(kb: KnowledgeBase, question: Question, lists: Sequence[Scores]) -> int | None:
    rankings = (sorted(scores, key=lambda chunk: (-scores[chunk], chunk)) for scores in lists)
    texts = ([RankedText(p.shown, (p.citation.path,), p.target) for p in kb.catalog.passages(r)] for r in rankings)
    return min((rank for own in texts if (rank := rank_of(question, own))), default=None)


def asked_of(question: Question, *, phrasings: bool) -> list[str]:
    return [question.query, *(question.phrasings if phrasings else ())]


def scope_of(kb: KnowledgeBase, question: Question) -> frozenset[str] | None:
    return kb.targets.scope(question.target) if question.target else None


def rank_of(question: Question, texts: Sequence[RankedText]) -> int | None:
    """Rank, from 1, of the first text that answers by itself; None if there is none."""
    return next((n for n, one in enumerate(texts, 1) if question.is_answered_by(one.text, one.paths)), None)

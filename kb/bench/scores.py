"""Scores of answered questions, with bootstrap intervals."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median, quantiles

BUDGETS = (1000, 2000, 4000, 8000)
"""Sizes of packed contexts, in tokens."""
RANKS = 10
"""Number of leading hits that MRR and nDCG consider."""
RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Answered:
    """The judged answer to one question."""

    id: str
    kind: str
    target: str
    answerable: bool
    refused: bool
    rank: int | None
    """Rank, from 1, of the first hit that answers by itself; None if there is none."""
    within: tuple[bool, ...]
    """For each of BUDGETS, whether the packed context answers."""
    wrong: float
    """Share of the first five hits whose target is out of scope."""
    confused: bool | None
    """Whether one of the first three hits states a sibling's value; None if no sibling value is known."""
    invalid: int
    """Number of invalid citations among the first five hits."""
    seconds: float


def scores(answered: Sequence[Answered]) -> dict[str, float]:
    """Shares and means. Share without a hit: `refused` of answerable questions, `abstained` of unanswerable ones."""
    asked = [a for a in answered if a.answerable]
    rest = [a for a in answered if not a.answerable]
    found = {name: _mean([measure(a) for a in asked]) for name, measure in MEASURES.items()}
    found |= {
        "wrong target": _mean([a.wrong for a in asked]),
        "confused": _mean([a.confused for a in asked if a.confused is not None]),
        "citations valid": 1 - _mean([a.invalid > 0 for a in answered]),
        "refused": _mean([a.refused for a in asked]),
        "abstained": _mean([a.refused for a in rest]),
    }
    return {name: round(value, 4) for name, value in found.items() if not math.isnan(value)}


def intervals(answered: Sequence[Answered]) -> dict[str, tuple[float, float]]:
    """95 % bootstrap intervals over the answerable questions."""
    asked = [a for a in answered if a.answerable]
    bounds = {name: bootstrap([measure(a) for a in asked]) for name, measure in MEASURES.items()} if asked else {}
    return {name: (round(low, 3), round(high, 3)) for name, (low, high) in bounds.items()}


def bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % bootstrap interval of the mean."""
    chance = random.Random(0)  # noqa: S311 - the same interval every time
    cuts = quantiles([fmean(chance.choices(values, k=len(values))) for _ in range(RESAMPLES)], n=40)
    return cuts[0], cuts[-1]


def seconds(answered: Sequence[Answered]) -> dict[str, float]:
    times = [a.seconds for a in answered]
    p95 = quantiles(times, n=20)[-1] if len(times) > 1 else times[0]
    return {"p50": round(median(times), 4), "p95": round(p95, 4)}


def _is_within(index: int) -> Callable[[Answered], float]:
    return lambda a: a.within[index]


def reciprocal_rank(rank: int | None) -> float:
    return 1 / rank if rank and rank <= RANKS else 0.0


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else math.nan


MEASURES: dict[str, Callable[[Answered], float]] = {
    "hit@1": lambda a: a.rank == 1,
    "hit@5": lambda a: a.rank is not None and a.rank <= 5,
    "MRR@10": lambda a: reciprocal_rank(a.rank),
    "nDCG@10": lambda a: 1 / math.log2(a.rank + 1) if a.rank and a.rank <= RANKS else 0.0,  # the ideal has it first
    **{f"within {budget}": _is_within(index) for index, budget in enumerate(BUDGETS)},
}

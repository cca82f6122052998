"""Evaluate times: speed-up, its confidence interval, and whether two clocks agree."""

import math
import random
from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple

from kb.types.evidence import Session

RESAMPLES = 2000
CONFIDENCE = 0.95
CLOCK_TOLERANCE = 0.05
"""Relative difference allowed between the worker's clock and the judge's."""
UNEQUAL_US, SCATTER = 20.0, 2.0
"""Honest processes may differ by this much in how soon they answer, or by this many times the scatter of honest answers
in the session. What a candidate hides is added to its time all the same."""
SOME_TOLERANCE = 0.25
"""Part of a call that may be hidden in one call of four."""
MIDDLE, UPPER = 0.5, 0.75
"""Quantiles at which the clocks are compared."""
BETWEEN = 4.0
"""How many times as long as it needs a candidate may take between its timed calls; its caches and threads are cold."""
ERRORS = 3.0
"""Standard errors by which two medians must differ to count as different."""


class Call(NamedTuple):
    """Time of one call in microseconds, by two clocks."""

    outside_us: float
    """From question to answer, by the judge's clock."""
    inside_us: float
    """By the clock inside the worker."""
    late_us: float = 0.0
    """From the answer until a GPU works for the judge again, which work that goes on delays."""
    between_us: float = 0.0
    """What the untimed questions around the call took: another call, and to forget the outputs of both."""
    answering_us: float = 0.0
    """What the worker took beside the call to understand the start and to answer, by its own clock."""


def session_of(baseline_us: Sequence[float], candidate_us: Sequence[float], inside_us: Sequence[float]) -> Session:
    """A session from rounds, each of which timed the baseline and the candidate one after the other.

    The interval is a percentile bootstrap over rounds (Efron and Tibshirani 1993, chapter 13). It resamples whole
    rounds, so that a disturbance of both sides in a round cancels out. The draws are seeded: the same times give the
    same interval.
    """
    rounds = list(zip(baseline_us, candidate_us, strict=True))
    draw = random.Random(0)  # noqa: S311 - resampling, not secrecy
    speedups = sorted(_speedup(draw.choices(rounds, k=len(rounds))) for _ in range(RESAMPLES))
    tail = int(RESAMPLES * (1 - CONFIDENCE) / 2)
    return Session(
        baseline_us=tuple(baseline_us),
        candidate_us=tuple(candidate_us),
        inside_us=tuple(inside_us),
        speedup=_speedup(rounds),
        low=speedups[tail],
        high=speedups[-1 - tail],
    )


def _speedup(rounds: Sequence[tuple[float, float]]) -> float:
    return median(b for b, _ in rounds) / median(c for _, c in rounds)


def hidden_us(candidate: Sequence[Call], baseline: Sequence[Call]) -> float:
    """Time per call, in microseconds, that a candidate hides from the clock inside its worker; 0 if none.

    A question and its answer take time beside the call: the difference of both clocks. The baseline, which does not
    cheat, shows how much; what the candidate takes in addition is hidden work. So is what it does on a GPU after each
    of its answers.
    """
    return sum(_excess(gap, candidate, baseline, MIDDLE) for gap in GAPS)


def clocks_disagree(candidate: Sequence[Call], baseline: Sequence[Call]) -> bool:
    """Whether the clock inside the candidate's worker was manipulated: it hides a few per cent of its calls.

    A clock may also hide a large part of some calls only, which moves no median.
    """
    call_us = median(call.inside_us for call in candidate)
    honest = [_asking(call) for call in baseline]
    unequal_us = max(UNEQUAL_US, SCATTER * (_quantile(honest, UPPER) - _quantile(honest, MIDDLE)))
    if hidden_us(candidate, baseline) > max(CLOCK_TOLERANCE * call_us, unequal_us):
        return True
    some_us = sum(_excess(gap, candidate, baseline, UPPER) for gap in GAPS)
    return some_us > max(SOME_TOLERANCE * call_us, unequal_us)


def works_between(candidate: Sequence[Call], baseline: Sequence[Call]) -> bool:
    """Whether a candidate takes much longer between its timed calls than in them.

    It needs one of its calls, and what a baseline takes. More would heat the chip before the baseline's calls, or let
    it cool before its own.
    """
    mine_us, theirs_us = (_quantile([call.between_us for call in calls], UPPER) for calls in (candidate, baseline))
    return mine_us > BETWEEN * (_quantile([call.outside_us for call in candidate], UPPER) + theirs_us)


def _asking(call: Call) -> float:
    return call.outside_us - call.inside_us


def _late(call: Call) -> float:
    return call.late_us


GAPS = (_asking, _late)


def _excess(gap: Callable[[Call], float], candidate: Sequence[Call], baseline: Sequence[Call], share: float) -> float:
    """By how much a quantile of a gap exceeds the baseline's, beyond chance.

    Chance is known from the baseline alone, because a candidate can make its own times scatter as it likes. For normal
    errors the standard deviation is 1.4826 times the median absolute deviation, and the standard error of a median
    1.2533 times that of a mean; of the difference of two medians it is the square root of 2 times as large.
    """
    mine, theirs = ([gap(call) for call in calls] for calls in (candidate, baseline))
    middle = median(theirs)
    deviation = 1.4826 * median(abs(value - middle) for value in theirs)
    error = math.sqrt(2) * 1.2533 * deviation / math.sqrt(len(theirs))
    return max(0.0, _quantile(mine, share) - _quantile(theirs, share) - ERRORS * error)


def _quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[int((len(values) - 1) * share)]

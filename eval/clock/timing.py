"""Evaluate times: speed-up, its confidence interval, and whether two clocks agree."""

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from kb.types.timing import Session

RESAMPLES = 2000
CONFIDENCE = 0.95
CLOCK_TOLERANCE = 0.05
"""Relative difference allowed between the worker's clock and the judge's."""
OVERHEAD_US, OVERHEAD_SCATTER = 20.0, 2.0
"""The overhead of honest processes may differ by this much, or by this many times its scatter in the session. What a
candidate hides is added to its time all the same."""
SOME_TOLERANCE = 0.25
"""Part of a call that may be hidden in one call of four."""
UNSEEN, UNSEEN_OF_REPLAYS = {"cpu": 2.5, "cuda": 2.0}, 0.3
"""A candidate that answers in the worker's place can hide this many times the time in which an honest worker answers,
`UNSEEN` by where torch keeps the tensors, `UNSEEN_OF_REPLAYS` where honest workers replay recorded calls. Found by
experiment with candidates in C (judge-doubt-h200.json): beside replays they saved .08 to .25 of that time."""
MIDDLE, UPPER = 0.5, 0.75
"""Quantiles at which the clocks are compared."""
BETWEEN_FACTOR = 4.0
"""How many times as long as it needs a candidate may take between its timed calls; its caches and threads are cold."""
STANDARD_ERRORS = 3.0
"""By so many two medians must differ to count as different."""


class CallTime(NamedTuple):
    """Time of one call in microseconds, by two clocks."""

    outside_us: float
    """From question to reply, by the judge's clock."""
    inside_us: float
    """By the clock inside the worker."""
    lingering_us: float = 0.0
    """From the reply until the worker stood still and a GPU worked for the judge again; work that goes on delays it."""
    between_us: float = 0.0
    """What the untimed questions around the call took: another call, and to forget the outputs of both."""
    answering_us: float = 0.0
    """What the worker took beside the call to understand the start and to reply, by its own clock."""

    @property
    def overhead_us(self) -> float:
        """What question and reply took beside the call."""
        return self.outside_us - self.inside_us


def median_us(calls: Iterable[CallTime]) -> float:
    """The median time of calls by the clock inside the worker."""
    return median(call.inside_us for call in calls)


def session_of(baseline_us: Sequence[float], candidate_us: Sequence[float], inside_us: Sequence[float]) -> Session:
    """A session from rounds, each of which timed the baseline and the candidate one after the other.

    The interval is a percentile bootstrap over rounds (Efron and Tibshirani 1993, chapter 13). It resamples whole
    rounds, so that a disturbance of both times in a round cancels out. The resampling is seeded: the same times give
    the same interval.
    """
    rounds = np.array([baseline_us, candidate_us])
    drawn = np.random.default_rng(0).integers(rounds.shape[1], size=(RESAMPLES, rounds.shape[1]))
    speedups = np.sort(np.divide(*np.median(rounds[:, drawn], axis=-1)))
    tail = int(RESAMPLES * (1 - CONFIDENCE) / 2)
    return Session(
        baseline_us=tuple(baseline_us),
        candidate_us=tuple(candidate_us),
        inside_us=tuple(inside_us),
        speedup=median(baseline_us) / median(candidate_us),
        low=float(speedups[tail]),
        high=float(speedups[-1 - tail]),
    )


def hidden_us(candidate: Sequence[CallTime], honest: Sequence[CallTime]) -> float:
    """Time per call, in microseconds, that a candidate hides from the clock inside its worker; 0 if none.

    A question and its reply take time beside the call: the difference of both clocks. The calls of an honest worker
    show how much; what the candidate takes in addition is hidden work. So is what it does on a GPU after each reply.
    """
    return sum(_excess(part, candidate, honest, MIDDLE) for part in UNTIMED_PARTS)


def clocks_disagree(candidate: Sequence[CallTime], honest: Sequence[CallTime]) -> bool:
    """Whether the clock inside the candidate's worker was manipulated: it hides a few per cent of its calls.

    A clock may also hide a large part of some calls only, which moves no median.
    """
    call_us = median_us(candidate)
    overhead_us = [call.overhead_us for call in honest]
    scatter_us = _quantile(overhead_us, UPPER) - _quantile(overhead_us, MIDDLE)
    allowed_us = max(OVERHEAD_US, OVERHEAD_SCATTER * scatter_us)
    if hidden_us(candidate, honest) > max(CLOCK_TOLERANCE * call_us, allowed_us):
        return True
    some_us = sum(_excess(part, candidate, honest, UPPER) for part in UNTIMED_PARTS)
    return some_us > max(SOME_TOLERANCE * call_us, allowed_us)


def works_between(candidate: Sequence[CallTime], baseline: Sequence[CallTime]) -> bool:
    """Whether a candidate takes much longer between its timed calls than in them.

    It needs one of its calls, and what a baseline takes. More would heat the chip before the baseline's calls, or let
    it cool before its own.
    """
    between_us, needed_us = (_quantile([call.between_us for call in calls], UPPER) for calls in (candidate, baseline))
    return between_us > BETWEEN_FACTOR * (_quantile([call.outside_us for call in candidate], UPPER) + needed_us)


UNTIMED_PARTS: tuple[Callable[[CallTime], float], ...] = (lambda call: call.overhead_us, lambda call: call.lingering_us)
"""What a call takes that the clock inside the worker does not see."""


def _excess(
    part: Callable[[CallTime], float], candidate: Sequence[CallTime], honest: Sequence[CallTime], share: float
) -> float:
    """By how much a quantile of an untimed part exceeds that of an honest worker, beyond chance.

    Chance is known from the honest worker alone, because a candidate can make its own times scatter as it likes. For
    normal errors the standard deviation is 1.4826 times the median absolute deviation, and the standard error of a
    median 1.2533 times that of a mean; of the difference of two medians it is the square root of 2 times as large.
    """
    candidate_us, honest_us = ([part(call) for call in calls] for calls in (candidate, honest))
    middle = median(honest_us)
    deviation = 1.4826 * median(abs(value - middle) for value in honest_us)
    error = math.sqrt(2) * 1.2533 * deviation / math.sqrt(len(honest_us))
    return max(0.0, _quantile(candidate_us, share) - _quantile(honest_us, share) - STANDARD_ERRORS * error)


def _quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[int((len(values) - 1) * share)]

"""Evaluate times: speed-up, its confidence interval, and whether two clocks agree."""

import random
from collections.abc import Sequence
from statistics import median

from kb.model.evidence import Session

REUSED_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}
"""Environment of judge and worker, which makes glibc reuse freed memory. Otherwise each large output would be mapped
and faulted in again, which takes several times as long as the kernel that fills it."""
RESAMPLES = 2000
CONFIDENCE = 0.95
CLOCK_TOLERANCE = 0.05
"""Relative difference allowed between the worker's clock and the judge's."""


def session_of(
    baseline_us: Sequence[float], candidate_us: Sequence[float], inside_us: Sequence[float], *, others: float = 0.0
) -> Session:
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
        others=others,
    )


def _speedup(rounds: Sequence[tuple[float, float]]) -> float:
    return median(b for b, _ in rounds) / median(c for _, c in rounds)


def clocks_agree(outside_us: Sequence[float], inside_us: Sequence[float], *, overhead_us: float) -> bool:
    """Whether two clocks agree within a few per cent in at least one round.

    On a busy machine the answer may reach the judge late, so some rounds may differ; a manipulated clock differs in
    all rounds.

    Args:
        overhead_us: Overhead per call that question and answer may add to the outside time.
    """
    return any(
        abs(outside - inside) <= CLOCK_TOLERANCE * outside + overhead_us
        for outside, inside in zip(outside_us, inside_us, strict=True)
    )

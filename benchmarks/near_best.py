"""Compare ways to search by how soon their runs come within 5 % of the best known kernel, with 95 % intervals.

Intervals are bootstrapped over tasks, and over seeds within each task.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import exp, log
from statistics import fmean, quantiles
from typing import NamedTuple

NEAR = 0.95
RESAMPLES = 2000


class Trial(NamedTuple):
    """One run."""

    task: str
    seed: int
    arm: str
    """The way to search."""
    speedups: tuple[float | None, ...]
    """Of each judged candidate, in order; None if no time counts."""


def compared(trials: Sequence[Trial], *, base: str, evaluations: int) -> dict[str, dict[str, object]]:
    """The scores of each arm, from trials of every arm on every task and seed.

    Args:
        base: The arm that the others are compared with.
        evaluations: Evaluations of each run. A run that never came near counts with one more.

    Returns:
        For each arm the `evaluations` until a run was near; the share of runs that came `near`; `fewer evaluations`,
        the geometric mean of how many times as many the base needed; and for each number of evaluations the `gain`,
        the best speed-up so far minus that of the base, as a share of the best known one.
    """
    best = {task: max(s or 0.0 for t in trials if t.task == task for s in t.speedups) for task, *_ in trials}
    of_base = {(trial.task, trial.seed): trial for trial in trials if trial.arm == base}

    def needed(trial: Trial) -> int:
        near = (n for n, speedup in enumerate(trial.speedups, 1) if (speedup or 0.0) >= NEAR * best[trial.task])
        return next(near, evaluations + 1)

    def share(trial: Trial, count: int) -> float:
        return max((speedup or 0.0 for speedup in trial.speedups[:count]), default=0.0) / best[trial.task]

    def mean(measure: Callable[[Trial, Trial], float], arm: str) -> dict[str, float]:
        groups: defaultdict[str, list[float]] = defaultdict(list)
        for trial in trials:
            if trial.arm == arm:
                groups[trial.task].append(measure(trial, of_base[trial.task, trial.seed]))
        return interval(groups)

    def scores(arm: str) -> dict[str, object]:
        logs = mean(lambda own, other: log(needed(other) / needed(own)), arm)
        counts = range(1, evaluations + 1)
        return {
            "evaluations": mean(lambda own, _: needed(own), arm),
            "near": fmean(needed(trial) <= evaluations for trial in trials if trial.arm == arm),
            "fewer evaluations": {name: exp(value) for name, value in logs.items()},
            "gain": [mean(lambda own, other, n=n: share(own, n) - share(other, n), arm) for n in counts],
        }

    return {arm: scores(arm) for arm in dict.fromkeys(trial.arm for trial in trials)}


def interval(values: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The mean over tasks of the means over seeds, with its ends: tasks are drawn first, then seeds of each."""
    chance, groups = random.Random(0), list(values.values())
    draws = [
        fmean(fmean(chance.choices(group, k=len(group))) for group in chance.choices(groups, k=len(groups)))
        for _ in range(RESAMPLES)
    ]
    cuts = quantiles(draws, n=40)
    return {"mean": fmean(map(fmean, groups)), "low": cuts[0], "high": cuts[-1]}

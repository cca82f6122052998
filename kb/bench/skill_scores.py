"""Scores of `kb bench skills`: how soon the runs of each arm came near the best known kernel, with intervals."""

import random
from collections.abc import Callable, Mapping, Sequence
from math import exp, log
from operator import sub
from pathlib import Path
from statistics import fmean, quantiles

from pydantic import ValidationError

from kb.errors import SourceError
from kb.types.base import Frozen
from kb.types.skills_report import Arm, ArmScore, Interval, SkillsReport, TaskScore

NEAR = 0.95
"""A kernel is near the best known one if its speed-up is at least this share of it."""
LEAST = 1e-3
"""The shortest time in seconds that a ratio of times takes for what it is."""
RESAMPLES = 2000


class Step(Frozen):
    """One judged candidate of a run."""

    speedup: float | None
    """None if it was refused, or other work disturbed the times."""
    seconds: float
    """Time that its verdict took."""


class Trial(Frozen):
    """One run of an arm."""

    task: str
    seed: int
    arm: Arm
    skills: int
    """Number of skills with evidence that the library held."""
    steps: tuple[Step, ...]


class Reached(Frozen):
    """When a run came near the best known kernel; if it did not, after one evaluation more than it had."""

    evaluations: int
    seconds: float
    near: bool


Group = Mapping[str, Sequence[float]]
"""Values by task, one for each seed."""


def report(
    trials: Sequence[Trial], *, target: str, evaluations: int, won: Mapping[str, bool], unfinished: int
) -> SkillsReport:
    """The scores of the trials.

    Args:
        evaluations: Evaluations of each run.
        won: Whether a kernel won, for each task.
    """
    scores = _Scores(trials, evaluations, won)
    return SkillsReport(
        target=target,
        evaluations=evaluations,
        tasks=tuple(map(scores.task, scores.tasks)),
        nothing_to_win=tuple(dict.fromkeys(task for task, _ in scores.whole if not won[task])),
        arms=tuple(scores.arm(arm) for arm in Arm if arm is not Arm.REPLAY) if scores.tasks else (),
        replay=scores.arm(Arm.REPLAY) if scores.tasks else None,
        unfinished=unfinished,
    )


class _Scores:
    """The scores of trials, from the tasks on which a kernel won and the seeds of which no arm is missing."""

    def __init__(self, trials: Sequence[Trial], evaluations: int, won: Mapping[str, bool]) -> None:
        self._trials = {(trial.task, trial.seed, trial.arm): trial for trial in trials}
        self._evaluations = evaluations
        keys = [(task, seed) for task, seed, arm in self._trials if arm is Arm.COLD]
        self.whole = [key for key in keys if all((*key, arm) in self._trials for arm in Arm)]
        self.tasks = [task for task in dict.fromkeys(task for task, _ in self.whole) if won[task]]
        self._best = {
            task: max(s.speedup or 0.0 for t in trials if t.task == task for s in t.steps) for task in self.tasks
        }

    def task(self, task: str) -> TaskScore:
        first = self._values(lambda trial: self._share(trial, 1), Arm.COLD)[task]
        counts = {arm: self._values(lambda trial: self._reached(trial).evaluations, arm)[task] for arm in Arm}
        return TaskScore(
            task=task,
            best=self._best[task],
            room=1 / max(1e-9, fmean(first)),
            evaluations={arm: fmean(values) for arm, values in counts.items()},
        )

    def arm(self, arm: Arm) -> ArmScore:
        counts, seconds = (
            {arm: self._values(measure, arm) for arm in (arm, Arm.COLD)}
            for measure in (lambda trial: self._reached(trial).evaluations, lambda trial: self._reached(trial).seconds)
        )
        near = self._values(lambda trial: self._reached(trial).near, arm)
        return ArmScore(
            arm=arm,
            evaluations=interval(counts[arm]),
            seconds=interval(seconds[arm]),
            near=fmean(value for group in near.values() for value in group),
            first=interval(self._values(lambda trial: self._share(trial, 1), arm)),
            fewer_evaluations=ratio(counts[Arm.COLD], counts[arm]),
            fewer_seconds=ratio(seconds[Arm.COLD], seconds[arm]),
            gains=tuple(self._gain(arm, count) for count in range(1, self._evaluations + 1)),
        )

    def _gain(self, arm: Arm, count: int) -> Interval:
        ours, cold = (self._values(lambda trial: self._share(trial, count), each) for each in (arm, Arm.COLD))
        return interval({task: list(map(sub, ours[task], cold[task])) for task in self.tasks})

    def _values(self, measure: Callable[[Trial], float], arm: Arm) -> Group:
        return {
            task: [measure(self._trials[task, seed, arm]) for other, seed in self.whole if other == task]
            for task in self.tasks
        }

    def _reached(self, trial: Trial) -> Reached:
        return reached_by(trial.steps, self._best[trial.task], self._evaluations)

    def _share(self, trial: Trial, count: int) -> float:
        """The best speed-up of the first steps as a share of the best known one."""
        return max((s.speedup or 0.0 for s in trial.steps[:count]), default=0.0) / self._best[trial.task]


def read_report(file: Path) -> SkillsReport:
    """A report that `kb bench skills --out` wrote. Raises SourceError if the file is another one."""
    try:
        return SkillsReport.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise SourceError(
            f"{file} is not a result of `kb bench skills`: {str(error)[:200]}", hint="write it with --out"
        ) from error


def reached_by(steps: Sequence[Step], best: float, evaluations: int) -> Reached:
    """When the steps of a run came near `best`, a speed-up, of the `evaluations` that it had."""
    for number, step in enumerate(steps, start=1):
        if (step.speedup or 0.0) >= NEAR * best:
            return Reached(evaluations=number, seconds=sum(s.seconds for s in steps[:number]), near=True)
    return Reached(evaluations=evaluations + 1, seconds=sum(step.seconds for step in steps), near=False)


def interval(values: Group) -> Interval:
    """Mean over tasks of the means over seeds, with its interval: tasks are drawn first, then seeds of each."""
    chance = random.Random(0)  # noqa: S311 - the same interval every time
    groups = list(values.values())
    draws = [
        fmean(fmean(chance.choices(group, k=len(group))) for group in chance.choices(groups, k=len(groups)))
        for _ in range(RESAMPLES)
    ]
    cuts = quantiles(draws, n=40)
    return Interval(mean=fmean(map(fmean, groups)), low=cuts[0], high=cuts[-1])


def ratio(ours: Group, theirs: Group) -> Interval:
    """Geometric mean of our values over theirs, paired, none of them taken as less than LEAST; with its interval."""
    logs = {task: [[log(max(value, LEAST)) for value in group[task]] for group in (ours, theirs)] for task in ours}
    found = interval({task: [a - b for a, b in zip(*pair, strict=True)] for task, pair in logs.items()})
    return Interval(mean=exp(found.mean), low=exp(found.low), high=exp(found.high))

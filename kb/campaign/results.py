"""One row for each run of a campaign, and the statistics over rows. Pure functions over journals."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import exp, inf, log
from statistics import fmean
from typing import NamedTuple

from pydantic import Field

from kb.bench.scores import bootstrap
from kb.runs.journal import Run
from kb.types.base import Frozen
from kb.types.evidence import Evidence, Grade
from kb.types.kernels import Precision
from kb.types.timing import WIN_MARGIN

LUCK = 1.05
"""Times of the same baseline as shares of eager's differ by less from batch to batch, if it runs the same kernels."""
EAGER = "eager"
Best = Mapping[tuple[str, str, str], float]
"""By the digest of a task, the target and the kind of machine."""


class Result(Frozen):
    """What came of one run."""

    group: str
    task: str
    precision: Precision
    target: str
    arm: str
    run: str = ""
    """Its id; empty if it has not begun."""
    judged: int = 0
    refused: dict[str, int] = Field(default_factory=dict)
    """Number of refused candidates by reason."""
    correct: bool = False
    grade: Grade | None = None
    """How the best candidate passed: a `compiled` or `simulated` one is never timed."""
    won: bool = False
    speedup: float | None = None
    """Of the best correct candidate, over the best of the judge's baselines; None if no time counts."""
    low: float | None = None
    high: float | None = None
    """Ends of its 95 % interval."""
    baseline: str = ""
    """The one beside which it was timed."""
    time_us: float | None = None
    """Of one call, in microseconds."""
    roof: float | None = None
    """Share of the roof that it reaches; None if that is not known."""
    first_win: int | None = None
    """Number of the first candidate that won."""
    tokens: int = 0
    """Of requests that were answered."""
    dollars: float = 0.0
    minutes: float = 0.0
    """Of the judge."""
    models: tuple[str, ...] = ()
    """Those that answered, with the version that the service names; authors that name none by their own names."""
    answered: tuple[str, ...] = ()
    """Days of the first and the last answer."""
    state: str = "not begun"
    """Why it ended, or that it is open."""


class Mean(Frozen):
    """A mean with its 95 % bootstrap interval over tasks, which says nothing with fewer than two."""

    value: float
    low: float
    high: float
    tasks: int


class Summary(Frozen):
    """The runs of one group, precision, target and arm. Speed-ups are geometric means."""

    group: str
    precision: Precision
    target: str
    arm: str
    begun: int
    tasks: int
    as_it_is: Mean | None
    """The best correct candidate of each task that has one with a time."""
    with_losses: Mean | None
    """All tasks that have begun; one without a win counts 1.0. None, as `fast_1`, where nothing times the target."""
    wins: Mean | None
    """The tasks with a win alone."""
    fast_1: Mean | None
    """Share of the tasks that have begun with a win."""
    correct: Mean | None
    roof: Mean | None
    """Mean share of the roof, where it is known."""
    refused: dict[str, int]
    judged: int
    tokens: int
    dollars: float
    minutes: float


class Comparison(Frozen):
    """One arm over another on the tasks that both have begun, at equal budgets; one without a win counts 1.0."""

    arm: str
    over: str
    speedup: Mean
    first_win: tuple[float, float] | None
    """Mean number of the first candidate that won, on the tasks that both won."""


def best_baselines(runs: Iterable[Run]) -> Best:
    """The fastest baseline of each task on each kind of machine, as a share of eager's time beside it.

    torch.compile tunes itself once for each batch or run. What it chooses beside other work may be slow: for a layer
    norm on an H200, 55 us in one batch and 38 us in the next (campaign-h200-published.json).
    """
    found = dict[tuple[str, str, str], float]()
    for run in runs:
        for one in run.attempts:
            if share := _of_eager(one.evidence):
                key = run.plan.task.digest, run.plan.target, one.evidence.machine
                found[key] = min(share, found.get(key, share))
    return found


def _of_eager(evidence: Evidence) -> float | None:
    """The best baseline's time as a share of eager's, which cancels how fast this very machine is; None if unknown."""
    timing = evidence.timing
    if timing is None or timing.other_workloads or not (eager_us := timing.baselines_us.get(EAGER)):
        return None
    return timing.baseline_us / eager_us


class Gain(NamedTuple):
    """The speed-up of an attempt with a time, with the ends of its interval."""

    speedup: float
    low: float
    high: float
    won: bool


def _gain_of(run: Run, evidence: Evidence, best: Best) -> Gain | None:
    """The gain over the best baseline of any run, if that is faster by more than LUCK; else as the judge gave it."""
    if evidence.timing is None or evidence.speedup is None:
        return None
    own, timing = _of_eager(evidence), evidence.timing
    share = best.get((run.plan.task.digest, run.plan.target, evidence.machine), inf) / own if own else 1.0
    share = share if share * LUCK < 1 else 1.0
    low = timing.low * share
    return Gain(timing.speedup * share, low, timing.high * share, evidence.won and low > WIN_MARGIN)


def result_of(run: Run, group: str = "", arm: str = "", best: Best | None = None) -> Result:
    """The row of a run; group and arm are those of its part in a campaign, if it has one. Its gains are over `best`."""
    part, spent = run.plan.part, run.spent
    gains = [_gain_of(run, one.evidence, best or {}) for one in run.attempts]
    wins = [gain is not None and gain.won for gain in gains]
    passed = [place for place, one in enumerate(run.attempts) if one.evidence.passed]
    place = min(passed, key=lambda place: (not wins[place], run.attempts[place].cost(run.tried)), default=None)
    evidence = None if place is None else run.attempts[place].evidence
    gain = None if place is None else gains[place]
    limit = evidence.bottleneck if evidence else None
    outcomes = [one.evidence.outcome.value for one in run.attempts if not one.evidence.passed]
    answered = [one for one in run.exchanges if one.answered]
    days = [one.at[:10] for one in answered if one.at]
    return Result(
        group=part.group if part else group,
        task=run.plan.task.name,
        precision=run.plan.task.precision,
        target=run.plan.target,
        arm=part.arm if part else arm,
        run=run.id,
        judged=len(run.attempts),
        refused=dict(Counter(outcomes)),
        correct=evidence is not None,
        grade=evidence.grade if evidence else None,
        won=gain is not None and gain.won,
        speedup=gain and gain.speedup,
        low=gain and gain.low,
        high=gain and gain.high,
        baseline=evidence.timing.rivals if gain and evidence and evidence.timing else "",
        time_us=evidence.time_us if gain and evidence else None,
        roof=(limit.reached or None) if limit and gain else None,
        first_win=wins.index(True) + 1 if True in wins else None,
        tokens=sum(one.usage.total for one in answered),
        dollars=spent.dollars,
        minutes=run.judged_s / 60,
        models=tuple(dict.fromkeys(one.model or one.author for one in answered)),
        answered=tuple(sorted({min(days), max(days)})) if days else (),
        state=run.ended or "open",
    )


def summaries(results: Sequence[Result]) -> tuple[Summary, ...]:
    """One for each group, precision, target and arm, in the order of the names."""

    def key(one: Result) -> tuple[str, ...]:
        return one.group, one.precision, one.target, one.arm

    return tuple(_summary(list(rows)) for _, rows in groupby(sorted(results, key=key), key=key))


def comparisons(results: Sequence[Result]) -> tuple[Comparison, ...]:
    """The first arm over each of the others."""
    by_arm: dict[str, dict[tuple[str, ...], Result]] = {}
    for one in results:
        if one.run:
            by_arm.setdefault(one.arm, {})[one.group, one.task, one.precision, one.target] = one
    first, *others = by_arm or ("",)
    found = []
    for other in others:
        pairs = [(one, by_arm[other][task]) for task, one in by_arm[first].items() if task in by_arm[other]]
        both = [(a.first_win, b.first_win) for a, b in pairs if a.first_win and b.first_win]
        if speedup := geometric([with_loss(a) / with_loss(b) for a, b in pairs]):
            means = (fmean(a for a, _ in both), fmean(b for _, b in both)) if both else None
            found.append(Comparison(arm=first, over=other, speedup=speedup, first_win=means))
    return tuple(found)


def with_loss(one: Result) -> float:
    """The speed-up of a win, or else 1.0: the user keeps the baseline."""
    return one.speedup if one.won and one.speedup else 1.0


def geometric(values: Sequence[float]) -> Mean | None:
    """The geometric mean; None if there are no values."""
    found = mean([log(value) for value in values])
    return found and Mean(value=exp(found.value), low=exp(found.low), high=exp(found.high), tasks=found.tasks)


def mean(values: Sequence[float]) -> Mean | None:
    """The arithmetic mean; None if there are no values."""
    if not values:
        return None
    low, high = bootstrap(values)
    return Mean(value=fmean(values), low=low, high=high, tasks=len(values))


def _summary(rows: Sequence[Result]) -> Summary:
    begun = [one for one in rows if one.run]
    timed = [] if any(one.grade not in (None, Grade.MEASURED) for one in begun) else begun
    refused = sum((Counter(one.refused) for one in begun), Counter[str]())
    return Summary(
        **{name: getattr(rows[0], name) for name in ("group", "precision", "target", "arm")},
        begun=len(begun),
        tasks=len(rows),
        as_it_is=geometric([one.speedup for one in begun if one.correct and one.speedup]),
        with_losses=geometric([with_loss(one) for one in timed]),
        wins=geometric([one.speedup for one in begun if one.won and one.speedup]),
        fast_1=mean([float(one.won) for one in timed]),
        correct=mean([float(one.correct) for one in begun]),
        roof=mean([one.roof for one in begun if one.roof is not None]),
        refused=dict(refused.most_common()),
        judged=sum(one.judged for one in begun),
        tokens=sum(one.tokens for one in begun),
        dollars=sum(one.dollars for one in begun),
        minutes=sum(one.minutes for one in begun),
    )

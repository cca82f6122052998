"""One row for each run of a campaign, and the statistics over rows. Pure functions over journals."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from math import exp, log
from statistics import fmean

from pydantic import Field

from kb.bench.scores import bootstrap
from kb.runs.journal import Run
from kb.types.base import Frozen
from kb.types.evidence import Grade
from kb.types.kernels import Precision
from kb.types.timing import WIN_MARGIN

LUCK = 1.05
"""Times of the same baseline in two batches differ by less, if it runs the same kernels."""


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
    baseline_us: float | None = None
    """Its time beside the best candidate."""
    least_us: float | None = None
    """The shortest time of the best baseline beside any candidate of the run, on that machine."""
    machine: str = ""
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


def result_of(run: Run, group: str = "", arm: str = "") -> Result:
    """The row of a run; group and arm are those of its part in a campaign, if it has one."""
    part, best, spent = run.plan.part, run.best, run.spent
    timing = best.evidence.timing if best and best.evidence.speedup else None
    limit = best.evidence.bottleneck if best else None
    outcomes = [one.evidence.outcome.value for one in run.attempts if not one.evidence.passed]
    answered = [one for one in run.exchanges if one.answered]
    days = [one.at[:10] for one in answered if one.at]
    machine = best.evidence.machine if best else ""
    beside = [one.evidence.timing for one in run.attempts if one.evidence.machine == machine]
    return Result(
        group=part.group if part else group,
        task=run.plan.task.name,
        precision=run.plan.task.precision,
        target=run.plan.target,
        arm=part.arm if part else arm,
        run=run.id,
        judged=len(run.attempts),
        refused=dict(Counter(outcomes)),
        correct=best is not None,
        grade=best.evidence.grade if best else None,
        won=best is not None and best.evidence.won,
        speedup=timing and timing.speedup,
        low=timing and timing.low,
        high=timing and timing.high,
        baseline=timing.rivals if timing else "",
        baseline_us=timing and timing.baseline_us,
        least_us=min((one.baseline_us for one in beside if one), default=None) if timing else None,
        machine=machine,
        roof=(limit.reached or None) if limit and timing else None,
        first_win=next((n for n, one in enumerate(run.attempts, start=1) if one.evidence.won), None),
        tokens=sum(one.usage.total for one in answered),
        dollars=spent.dollars,
        minutes=run.judged_s / 60,
        models=tuple(dict.fromkeys(one.model or one.author for one in answered)),
        answered=tuple(sorted({min(days), max(days)})) if days else (),
        state=run.ended or "open",
    )


def over_best_baselines(results: Iterable[Result]) -> tuple[Result, ...]:
    """The rows, with each speed-up over the best baseline that any row of its task had on such a machine.

    torch.compile tunes itself once for all candidates that one judge gets. What it chooses beside other work may be
    slow: for a layer norm on an H200, 55 us in one batch and 38 us in the next (campaign-h200-published.json).
    """
    rows, least = tuple(results), dict[tuple[str, ...], float]()
    for one in rows:
        if one.least_us:
            least[_contest(one)] = min(one.least_us, least.get(_contest(one), one.least_us))
    return tuple(_over(one, least.get(_contest(one))) for one in rows)


def _contest(one: Result) -> tuple[str, ...]:
    return one.task, one.precision, one.target, one.machine


def _over(one: Result, baseline_us: float | None) -> Result:
    """The row with its speed-up over a baseline of this time, if that is faster by more than LUCK."""
    if not (one.baseline_us and baseline_us and one.speedup and one.low and one.high):
        return one
    if (share := baseline_us / one.baseline_us) * LUCK > 1:
        return one
    won = one.won and one.low * share > WIN_MARGIN
    times = {"speedup": one.speedup * share, "low": one.low * share, "high": one.high * share}
    return one.model_copy(
        update=times | {"won": won, "first_win": one.first_win if won else None, "baseline_us": baseline_us}
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

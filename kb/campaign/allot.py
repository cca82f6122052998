"""Which run of a campaign goes on next, and how far. All follows from what the runs have taken and reached.

At first each run gets the same share of the budget. A run that ends early leaves the rest of its share; that goes, a
few verdicts at a time, to the run with the most headroom.
"""

from collections.abc import Iterator, Mapping, Sequence

from kb.runs.journal import Run
from kb.runs.loop import state_of
from kb.types.base import Frozen
from kb.types.campaign import Amounts
from synth.search.moves import NEAR_ROOF, STAGNANT, stagnant_steps

STEP = 4
"""Verdicts that a run gets at once of what others left: a new structure with its tuning takes three."""
FIRST, REST = 1, 2
NAMES = tuple(Amounts.model_fields)
NOTHING = Amounts(evaluations=0, tokens=0, dollars=0.0, minutes=0.0)


class Standing(Frozen):
    """What a run has taken, and how far it has come."""

    taken: Amounts = NOTHING
    ended: bool = False
    passed: bool = False
    reached: float | None = None
    """Share of the roof that its best kernel reaches; None if it is not known."""
    near_roof: float = NEAR_ROOF
    stagnant: int = 0
    """Steps in a row without a gain; 0 if another structure is to come before the end."""

    @property
    def headroom(self) -> float:
        """The share of the time that a kernel may still win, from 0 to 1; 1 if none has passed or no roof is known."""
        if self.ended or (self.passed and self.stagnant >= STAGNANT):
            return 0.0
        reached = self.reached or 0.0
        return 0.0 if reached >= self.near_roof else 1.0 - reached


class Slice(Frozen):
    """The next part of the work."""

    run: int
    """Number of the run in the campaign, from 0."""
    until: Amounts
    """What it may have taken, in all, before it pauses."""
    lap: int
    """FIRST, or REST for what others left."""


def standing_of(run: Run | None) -> Standing:
    """The standing of a run; None is one that has not begun."""
    if run is None:
        return Standing()
    spent, best = run.spent, run.best
    taken = Amounts(
        evaluations=len(run.attempts), tokens=spent.usage.total, dollars=spent.dollars, minutes=run.judged_s / 60
    )
    limit = best.evidence.bottleneck if best else None
    return Standing(
        taken=taken,
        ended=bool(run.ended),
        passed=best is not None,
        reached=limit.reached if limit else None,
        near_roof=run.plan.near_roof,
        stagnant=stagnant_steps(run.attempts, run.tried) if state_of(run).has_drafted else 0,
    )


def next_slice(
    runs: Sequence[Standing], whole: Amounts, each: Amounts, aside: Mapping[int, int] | None = None
) -> Slice | None:
    """What to do next; None if the budget is spent, or no run has headroom. Arguments as in `slices`."""
    return next(slices(runs, whole, each, aside), None)


def slices(
    runs: Sequence[Standing], whole: Amounts, each: Amounts, aside: Mapping[int, int] | None = None
) -> Iterator[Slice]:
    """What to do next, and after it for each other run if each takes one verdict, until the budget is spent.

    Args:
        whole: The most that all runs may take together.
        each: The most that one may.
        aside: For runs that could not go on, the lap in which they are left out, and those before it.
    """
    rest = _rest(whole, [run.taken for run in runs])
    share = _least(each, _parts(whole, len(runs)))
    kept = [n for n, run in enumerate(runs) if not run.ended and _has_room(run.taken, each)]
    laps = {n: REST if (aside or {}).get(n, 0) >= FIRST or not _has_room(runs[n].taken, share) else FIRST for n in kept}
    others = [n for n in kept if laps[n] == REST and (aside or {}).get(n, 0) < REST and runs[n].headroom]
    others.sort(key=lambda n: (-runs[n].headroom, runs[n].taken.evaluations, n))
    for n in (*(n for n in kept if laps[n] == FIRST), *others):
        if not _has_room(NOTHING, rest):
            return
        taken = runs[n].taken
        own = share if laps[n] == FIRST else Amounts(evaluations=(taken.evaluations or 0) + STEP)
        yield Slice(run=n, until=_least(each, own, _sum([taken, rest])), lap=laps[n])
        rest = _rest(rest, [NOTHING.model_copy(update={"evaluations": 1})])


def _sum(amounts: Sequence[Amounts]) -> Amounts:
    """Without a limit where one of them has none."""
    values = {name: [getattr(one, name) for one in amounts] for name in NAMES}
    return Amounts(**{name: None if None in each else sum(each) for name, each in values.items()})


def _rest(whole: Amounts, taken: Sequence[Amounts]) -> Amounts:
    spent = _sum(taken)
    left = {name: getattr(whole, name) for name in NAMES if getattr(whole, name) is not None}
    return Amounts(**{name: max(0, value - getattr(spent, name)) for name, value in left.items()})


def _parts(whole: Amounts, count: int) -> Amounts:
    """An equal part for each of so many runs, at least one verdict."""
    found = {name: getattr(whole, name) for name in NAMES if getattr(whole, name) is not None}
    shares = {name: value // count if isinstance(value, int) else value / count for name, value in found.items()}
    return Amounts(**shares | ({"evaluations": max(1, shares["evaluations"])} if "evaluations" in shares else {}))


def _least(*amounts: Amounts) -> Amounts:
    values = {name: [v for one in amounts if (v := getattr(one, name)) is not None] for name in NAMES}
    return Amounts(**{name: min(each) for name, each in values.items() if each})


def _has_room(taken: Amounts, limit: Amounts) -> bool:
    """Whether less than the limit of each kind is taken."""
    return all(most is None or getattr(taken, name) < most for name, most in limit)

"""Scores of judged candidates: fast_p with intervals, and the speed-of-light score."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean

from eval.audit.driver import Audit, Usability
from kb.bench.kernelbench import Audited, Judged
from kb.bench.scores import bootstrap
from kb.types.base import Frozen
from kb.types.evidence import Outcome

SPEEDUPS = (1.0, 1.2, 1.5, 2.0)


class Share(Frozen):
    """A share of problems, with its 95 % bootstrap interval over problems."""

    speedup: float
    share: float
    low: float
    high: float


class Report(Frozen):
    """The scores of one run."""

    audits: dict[str, int]
    """Number of problems by the verdict of the audit."""
    problems: int
    """Usable problems; a problem without a correct candidate counts as not fast."""
    without_candidate: int
    correct: int
    """Problems with a candidate that passed."""
    outcomes: dict[str, int]
    """Number of candidates by outcome."""
    fast: tuple[Share, ...]
    """For each of SPEEDUPS, the share of problems with a candidate that won and whose whole interval lies above it."""
    light: float | None
    """Mean speed-of-light score of the fastest candidates; None if no floor is known."""
    below_floor: int
    """Candidates that passed in less time than the floor; they have no score."""


def report(lines: Sequence[Audited | Judged], problems: Sequence[str]) -> Report:
    """The scores of some problems, by the last line of each problem and candidate."""
    audits: dict[str, Audit] = {line.problem: line.audit for line in lines if isinstance(line, Audited)}
    audits = {name: audits[name] for name in problems if name in audits}
    usable = [name for name, audit in audits.items() if audit.verdict is Usability.USABLE]
    judged = {(line.problem, line.file): line for line in lines if isinstance(line, Judged) and line.problem in usable}
    by_problem = {name: [line for line in judged.values() if line.problem == name] for name in usable}
    best = {name: max(passed, key=_rank) for name in usable if (passed := [j for j in by_problem[name] if _passed(j)])}
    light = [light_score(j) for j in best.values()]
    scored = [score for score in light if score is not None]
    return Report(
        audits=Counter(audit.verdict.value for audit in audits.values()),
        problems=len(usable),
        without_candidate=sum(not lines for lines in by_problem.values()),
        correct=len(best),
        outcomes=Counter(j.outcome.value if j.outcome else "no verdict" for j in judged.values()),
        fast=tuple(_share(p, usable, best) for p in SPEEDUPS) if judged else (),
        light=fmean(scored) if scored else None,
        below_floor=sum(_is_below_floor(j) for j in best.values()),
    )


def light_score(judged: Judged) -> float | None:
    """How near a candidate is to the floor: S = 1 / (1 + (t - floor) / (baseline - floor)).

    1 is the floor and .5 the baseline's time (SOL-ExecBench, NVIDIA 2026). As it stands, the formula would give a time
    below the floor more than 1. Such a time is impossible or comes from a cache, so it has no score.

    Returns:
        None if something is unknown, or if the candidate or the baseline is below the floor.
    """
    time, baseline, floor = judged.candidate_us, judged.baseline_us, judged.floor_us
    if time is None or baseline is None or floor is None or time < floor or baseline <= floor:
        return None
    return 1 / (1 + (time - floor) / (baseline - floor))


def _is_below_floor(judged: Judged) -> bool:
    return judged.candidate_us is not None and judged.floor_us is not None and judged.candidate_us < judged.floor_us


def _passed(judged: Judged) -> bool:
    return judged.outcome is Outcome.PASSED


def _rank(judged: Judged) -> float:
    return judged.low or 0.0


def _share(speedup: float, problems: Sequence[str], best: Mapping[str, Judged]) -> Share:
    fast = [float(name in best and best[name].won and _rank(best[name]) > speedup) for name in problems]
    low, high = bootstrap(fast)
    return Share(speedup=speedup, share=fmean(fast), low=low, high=high)

"""Scores of judged candidates: fast_p with intervals."""

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


def report(lines: Sequence[Audited | Judged], problems: Sequence[str]) -> Report:
    """The scores of some problems, by the last line of each problem and candidate."""
    audits: dict[str, Audit] = {line.problem: line.audit for line in lines if isinstance(line, Audited)}
    audits = {name: audits[name] for name in problems if name in audits}
    usable = [name for name, audit in audits.items() if audit.verdict is Usability.USABLE]
    judged = {(line.problem, line.file): line for line in lines if isinstance(line, Judged) and line.problem in usable}
    by_problem = {name: [line for line in judged.values() if line.problem == name] for name in usable}
    best = {name: max(passed, key=_rank) for name in usable if (passed := [j for j in by_problem[name] if _passed(j)])}
    return Report(
        audits=Counter(audit.verdict.value for audit in audits.values()),
        problems=len(usable),
        without_candidate=sum(not lines for lines in by_problem.values()),
        correct=len(best),
        outcomes=Counter(j.outcome.value if j.outcome else "no verdict" for j in judged.values()),
        fast=tuple(_share(p, usable, best) for p in SPEEDUPS) if judged else (),
    )


def _passed(judged: Judged) -> bool:
    return judged.outcome is Outcome.PASSED


def _rank(judged: Judged) -> float:
    return judged.low or 0.0


def _share(speedup: float, problems: Sequence[str], best: Mapping[str, Judged]) -> Share:
    fast = [float(name in best and best[name].won and _rank(best[name]) > speedup) for name in problems]
    low, high = bootstrap(fast)
    return Share(speedup=speedup, share=fmean(fast), low=low, high=high)

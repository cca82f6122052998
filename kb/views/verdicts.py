"""What the judge decided on a kernel, and the bounds on a task's time."""

from math import ceil, exp, floor, log, sqrt
from statistics import geometric_mean, median, stdev
from typing import TYPE_CHECKING

from kb.types.base import Frozen
from kb.types.evidence import Evidence, Grade
from kb.types.kernels import workload_name
from kb.types.timing import LEAST_SPREAD, STUDENT, WIN_SESSIONS, Timing

if TYPE_CHECKING:
    from kb.types.kernels import Task
    from kb.usecases.knowledge_base import KnowledgeBase

NORMAL = 1.96
"""The 97.5 % quantile of the normal distribution."""


class Estimate(Frozen):
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


class WorkloadTime(Frozen):
    """The times at one of several workloads."""

    workload: str
    candidate_us: float
    baseline: str
    baseline_us: float
    speedup: Estimate


class Verdict(Frozen):
    summary: str
    """The outcome and its reason in one line."""
    passed: bool
    won: bool
    """Whether it was shown to be faster than the best baseline."""
    time_us: Estimate | None
    """Time of one call; None if no time counts."""
    speedup: Estimate | None
    """Over `baseline`, which was timed beside it: speed-ups over different baselines cannot be compared."""
    baseline: str
    workloads: tuple[WorkloadTime, ...]
    """Each of several; then the time and the speed-up are geometric means, and `baseline` is that of the first."""
    advice: tuple[str, ...]
    """What limits one that passed, with the numbers that show it, and what to do."""
    evidence: Evidence
    """What the judge saw."""


class Bound(Frozen):
    limit: str
    """`memory` or `arithmetic`."""
    time_us: float
    work: str
    """The work and the rate."""
    id: str
    """Of the fact that states the rate."""
    place: str


class RooflineView(Frozen):
    task: str
    target: str
    time_us: float
    """The shortest time that the task can take."""
    bounds: tuple[Bound, ...]
    """The longest first."""
    unknown: tuple[str, ...]
    """Why there is no other bound."""


def verdict(evidence: Evidence) -> Verdict:
    from synth.prompts.diagnosis import diagnosis_of

    timing = evidence.timing if evidence.timing and not evidence.timing.busy else None
    return Verdict(
        summary=_summary(evidence),
        passed=evidence.passed,
        won=evidence.won,
        time_us=timing and _time_us(timing),
        speedup=timing and _speedup(timing),
        baseline=timing.baseline if timing else "",
        workloads=tuple(map(_workload_time, timing.workloads)) if timing and timing.other_workloads else (),
        advice=tuple(diagnosis_of(evidence).sentences),
        evidence=evidence,
    )


def roofline(kb: "KnowledgeBase", task: "Task", target: str) -> RooflineView:
    """The shortest time of a task on a target. Errors as in `KnowledgeBase.roofline`."""
    found = kb.roofline(task, target)
    bounds = tuple(
        Bound(
            limit=ceiling.what,
            time_us=ceiling.seconds * 1e6,
            work=str(ceiling).partition(": ")[2],
            id=ceiling.fact.citation.id,
            place=ceiling.fact.citation.place,
        )
        for ceiling in found.ceilings
    )
    return RooflineView(
        task=task.name, target=target, time_us=found.seconds * 1e6, bounds=bounds, unknown=found.unknown
    )


def _speedup(timing: Timing) -> Estimate:
    return Estimate(value=timing.speedup, low=timing.low, high=timing.high)


def _workload_time(timing: Timing) -> WorkloadTime:
    return WorkloadTime(
        workload=workload_name(timing.workload),
        candidate_us=timing.candidate_us,
        baseline=timing.baseline,
        baseline_us=timing.baseline_us,
        speedup=_speedup(timing),
    )


def _time_us(timing: Timing) -> Estimate:
    """The median time of a call. Its interval is over sessions, as that of the speed-up, if there are enough of them;
    or else over all rounds, between order statistics. With several workloads, all three are geometric means."""
    value = timing.candidate_us
    if timing.other_workloads:
        each = [_time_us(one) for one in timing.workloads]
        low, high = (geometric_mean(ends) for ends in zip(*((one.low, one.high) for one in each), strict=True))
        return Estimate(value=value, low=low, high=high)
    sessions = [log(median(session.candidate_us)) for session in timing.sessions]
    if (n := len(sessions)) >= WIN_SESSIONS:
        quantile = STUDENT[min(n - WIN_SESSIONS, len(STUDENT) - 1)]
        factor = exp(quantile * max(stdev(sessions), LEAST_SPREAD) / sqrt(n))
        return Estimate(value=value, low=value / factor, high=value * factor)
    rounds = sorted(time for session in timing.sessions for time in session.candidate_us)
    middle, reach = (len(rounds) - 1) / 2, NORMAL * sqrt(len(rounds)) / 2
    low, high = max(0, floor(middle - reach)), min(len(rounds) - 1, ceil(middle + reach))
    return Estimate(value=value, low=rounds[low], high=rounds[high])


def _summary(evidence: Evidence) -> str:
    about = f"{evidence.task} on {evidence.target}"
    if evidence.grade is Grade.COMPILED and not evidence.cases:
        return f"built: {about}: it compiles for it; nothing ran it, so whether it is correct is unknown"
    if evidence.grade is Grade.SIMULATED:
        return f"passed: {about}: correct in a simulator; its speed on the chip is unknown"
    if evidence.grade is Grade.COMPILED:
        return f"passed: {about}: correct, and compiles for it; it did not run there, so its speed is unknown"
    if evidence.grade is Grade.MEASURED:
        if evidence.speedup is None:
            return f"passed: {about}: correct; its speed is unknown, because the machine was busy"
        decided = "a win" if evidence.won else "not shown to be faster"
        several = evidence.timing and evidence.timing.other_workloads
        over = evidence.timing.rivals if evidence.timing and several else "the best baseline"
        return f"passed: {about}: {evidence.speedup:.2f}x {over}, {decided}"
    return f"{evidence.outcome}: {about}: {evidence.detail}"

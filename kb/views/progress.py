"""The times of a run's candidates, for its curve."""

from itertools import accumulate
from math import inf

from kb.types.base import Frozen
from kb.views.runs import RunView
from kb.views.verdicts import Estimate, Verdict


class Progress(Frozen):
    """Times are of one call, in microseconds."""

    label: str
    times: tuple[Estimate | None, ...]
    """Of each candidate, in order; None if it was refused, or no time counts."""
    baseline: str = ""
    """The best baseline of the best candidate; empty if nothing was timed."""
    baseline_us: float | None = None
    """Its time beside the best candidate."""
    roof_us: float | None = None
    """The shortest time that the chip's cited rates allow; None if they are unknown."""

    @property
    def best_us(self) -> list[float]:
        """The shortest time so far, after each candidate; infinite while there is none."""
        return [*accumulate((time.value if time else inf for time in self.times), min)]


def progress(run: RunView) -> Progress:
    """The progress of a run."""
    best = run.best_verdict
    timing = best.evidence.timing if best and best.time_us else None
    return Progress(
        label=run.id,
        times=tuple(attempt.verdict.time_us for attempt in run.attempts),
        baseline=timing.baseline if timing else "",
        baseline_us=timing.baseline_us if timing else None,
        roof_us=roof_us(best) if best else None,
    )


def roof_us(verdict: Verdict) -> float | None:
    """The time at the rate that limits a timed candidate: its own times the share of that rate that it reaches."""
    limit = verdict.evidence.bottleneck
    return (limit.bound * verdict.time_us.value or None) if limit and verdict.time_us else None

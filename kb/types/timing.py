"""The times of a candidate and of its baselines, and what makes a win of them."""

from collections.abc import Callable
from functools import cached_property
from math import exp, hypot, log, sqrt
from statistics import geometric_mean, median, stdev
from typing import Annotated

from pydantic import Field

from kb.types.base import Recorded
from kb.types.kernels import Workload

WIN_MARGIN = 1.03
"""The lower end of a win's speed-up interval must exceed this, so that noise does not count as a win."""
WIN_SESSIONS = 3
"""Least number of timing sessions, each in fresh processes, that show a win."""
LEAST_OF_WORKLOADS = 0.95
"""A win on a task with several workloads is no slower than this on any of them."""
LEAST_SPREAD = 0.02
"""Standard deviation of the logarithm of a session's speed-up, at least: three sessions may agree by chance."""
STUDENT = (4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201)
"""The 97.5 % quantiles of Student's t distribution for 2, 3, ... degrees of freedom (NIST/SEMATECH e-Handbook of
Statistical Methods, 1.3.6.7.2)."""
MOST_OTHERS = 0.15
"""Largest share of CPU time that other work may take while a win is timed: it may slow one side more than the other."""

Ratio = Annotated[float, Field(ge=1e-18, le=1e18)]
"""A speed-up. No judge measures one outside these limits, within which logarithms and their spread are finite."""
Microseconds = Annotated[float, Field(ge=1e-18, le=1e18)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Natural = Annotated[int, Field(ge=0, lt=2**63)]


class GpuState(Recorded):
    """What a GPU reported while a session ran; 0 is what it did not report."""

    sm_mhz: tuple[int, int]
    """The lowest and the highest clock of its multiprocessors."""
    power_w: float
    """The highest power."""
    temperature_c: int
    """The highest temperature."""
    throttled: tuple[str, ...] = ()
    """Why the GPU lowered its clock."""


class Session(Recorded):
    """One interleaved timing session in a fresh worker. Times are of one call, in microseconds, one per round."""

    baseline_us: tuple[Microseconds, ...] = Field(min_length=1)
    candidate_us: tuple[Microseconds, ...] = Field(min_length=1)
    """Times by the worker's clock, or by the judge's without the time of question and answer if that is longer."""
    inside_us: tuple[Finite, ...]
    """Times by the clock inside the worker alone."""
    speedup: Ratio
    """Median baseline time over median candidate time; above 1 is faster."""
    low: Ratio
    high: Ratio
    """95 % bootstrap interval of the speed-up over rounds."""
    others: Finite = 0.0
    """Share of the CPU time that other processes, and other machines on the same host, took during the session."""
    unseen_us: Finite = 0.0
    """How long a call could work unseen, if its code answers in the worker's place and faster than that does."""
    memory_bytes: Natural = 0
    """Most memory that the candidate's process had, on a GPU the GPU's, with inputs and libraries; 0 is unknown."""
    baseline_memory_bytes: Natural = 0
    gpu: GpuState | None = None


class Timing(Recorded):
    """The times on a task. With several workloads, the fields are those of the first, and times are geometric means."""

    baseline: str
    """Name of the baseline that was fastest over all sessions."""
    baselines_us: dict[str, Microseconds]
    """Median time of each baseline tried; the fastest was then timed together with the candidate."""
    sessions: tuple[Session, ...] = Field(min_length=1)
    workload: Workload = Field(default_factory=dict)
    """Empty if the task has only one."""
    place: Ratio = Field(default=1.0, exclude_if=lambda place: place == 1.0)
    """How much faster the baseline was in the candidate's place, tried for small wins: the candidate's times are longer
    by that."""
    other_workloads: tuple["Timing", ...] = ()
    """The times at the other workloads."""

    @property
    def workloads(self) -> tuple["Timing", ...]:
        """The times of each workload by itself."""
        own = self.model_copy(update={"other_workloads": ()}) if self.other_workloads else self
        return (own, *self.other_workloads)

    @property
    def rivals(self) -> str:
        """What `speedup` is over, in words."""
        several = f"the best baselines of {len(self.workloads)} workloads"
        return several if self.other_workloads else self.baseline

    @cached_property
    def speedup(self) -> float:
        """The geometric mean of the speed-ups of sessions, and then of workloads."""
        return self._mean(lambda each: geometric_mean(s.speedup for s in each.sessions))

    @property
    def low(self) -> float:
        """The lower end of the 95 % interval of the speed-up."""
        return self._interval[0]

    @property
    def high(self) -> float:
        return self._interval[1]

    @cached_property
    def _interval(self) -> tuple[float, float]:
        """Over sessions, whose processes differ by luck, if there are enough; else the widest of their own intervals.

        The logarithms of the speed-ups of sessions are taken for normal, with unknown variance. Each workload has
        processes of its own, so the squares of their errors add up.
        """
        if self.other_workloads:
            below = hypot(*(log(each.speedup / each.low) for each in self.workloads)) / len(self.workloads)
            above = hypot(*(log(each.high / each.speedup) for each in self.workloads)) / len(self.workloads)
            return self.speedup / exp(below), self.speedup * exp(above)
        if len(self.sessions) < WIN_SESSIONS:
            return min(s.low for s in self.sessions), max(s.high for s in self.sessions)
        factor = self._factor(len(self.sessions))
        return self.speedup / factor, self.speedup * factor

    def may_win(self, sessions: int) -> bool:
        """Whether it can still win: it would if so many sessions had the mean and the spread of those so far."""
        return self.speedup / self._factor(sessions) > WIN_MARGIN

    def _factor(self, sessions: int) -> float:
        """By how much the ends of the interval over so many sessions differ from the speed-up."""
        spread = max(stdev(log(s.speedup) for s in self.sessions), LEAST_SPREAD)
        quantile = STUDENT[min(sessions - WIN_SESSIONS, len(STUDENT) - 1)]
        return exp(quantile * spread / sqrt(sessions))

    @cached_property
    def others(self) -> float:
        """The largest share that other work took in a session."""
        return max(s.others for s in self._all_sessions)

    @property
    def won(self) -> bool:
        """Whether enough sessions show it faster than the best baseline, on a machine with little other work."""
        enough = all(len(each.sessions) >= WIN_SESSIONS for each in self.workloads)
        everywhere = all(each.speedup >= LEAST_OF_WORKLOADS for each in self.workloads)
        return enough and everywhere and self.low > WIN_MARGIN and not self.busy

    @property
    def unseen_us(self) -> float:
        """How long a call could work unseen, if its code answers in the worker's place."""
        return median(s.unseen_us for s in self.sessions)

    @property
    def doubtful(self) -> bool:
        """Whether it is a win by less than a call could work unseen."""
        return self.won and self.baseline_us - self.candidate_us < self.unseen_us

    @property
    def busy(self) -> bool:
        """Whether other work took so much CPU time that the speed-up says nothing."""
        return self.others > MOST_OTHERS

    @property
    def memory_bytes(self) -> int:
        return max(s.memory_bytes for s in self._all_sessions)

    @property
    def baseline_memory_bytes(self) -> int:
        return max(s.baseline_memory_bytes for s in self._all_sessions)

    @cached_property
    def candidate_us(self) -> float:
        return self._mean(lambda each: median(t for s in each.sessions for t in s.candidate_us))

    @cached_property
    def baseline_us(self) -> float:
        return self._mean(lambda each: median(t for s in each.sessions for t in s.baseline_us))

    def _mean(self, value: Callable[["Timing"], float]) -> float:
        return geometric_mean(map(value, self.workloads)) if self.other_workloads else value(self)

    @property
    def _all_sessions(self) -> list[Session]:
        return [session for each in self.workloads for session in each.sessions]

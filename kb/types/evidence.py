"""The judge's evidence on a candidate. Only the judge creates these values, never from a candidate's claims."""

import json
from collections.abc import Callable
from enum import StrEnum
from math import exp, hypot, inf, log, sqrt
from statistics import geometric_mean, median, stdev
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from kb.types.base import Recorded
from kb.types.kernels import LanguageName, Precision, Workload, digest_of
from kb.types.target import IsaText

WIN_MARGIN = 1.03
"""The lower end of a win's speed-up interval must exceed this, so that noise does not count as a win."""
WIN_SESSIONS = 3
"""Least number of timing sessions, each in fresh processes, that show a win."""
LEAST_OF_WORKLOADS = 0.95
"""A win on a task with several workloads is no slower than this on any of them."""
OWN_SIZES = "tried at the task's own sizes only"
"""How the sentence of a verdict begins that says so."""
UNSEEN = 2.5
"""How much longer than an honest worker needs to answer, by its own clock, a candidate could work that answers in its
place: by experiment, with one in C."""
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


class Outcome(StrEnum):
    """Why a candidate was accepted or refused."""

    PASSED = "passed"
    COMPILE_ERROR = "compile_error"
    """It does not parse, compile, import or load."""
    INCOMPATIBLE_PARAMETERS = "incompatible_parameters"
    """It neither accepts the reference's parameters by name nor has `load_reference`."""
    RAISED = "raised"
    """It raised an exception when called."""
    CRASHED = "crashed"
    """Its process died or ended with an error."""
    TIMED_OUT = "timed_out"
    FORBIDDEN = "forbidden"
    """It tried something that the sandbox forbids."""
    FORGED = "forged"
    """It sent something other than an answer over the channel to the judge."""
    BAD_OUTPUT = "bad_output"
    """Wrong number, type, shape or dtype of outputs."""
    ALIASED_INPUT = "aliased_input"
    """An output lies in an input's memory."""
    MUTATED_INPUT = "mutated_input"
    INCORRECT = "incorrect"
    LATE_OUTPUT = "late_output"
    """An output changed after the call had returned."""
    STALE_OUTPUT = "stale_output"
    """The first call was right, a later call with other values was wrong: it returned a stored answer."""
    CLOCKS_DISAGREE = "clocks_disagree"
    """The time measured inside the worker differs from the time measured outside, or from that of untimed calls."""
    TOO_FAST = "too_fast"
    """It was faster than the machine can move the data, according to a cited fact."""
    NO_KERNEL = "no_kernel"
    """A candidate without kernels: one in Triton that launched none, or one of which nothing runs on the GPU."""
    OUTSIDE_KERNELS = "outside_kernels"
    """It computes outside of its kernels, in a toolchain whose kernels must do all the work."""
    OVER_LIMIT = "over_limit"
    """It compiles but needs more than the hardware has, according to a cited fact or the compiler."""
    UNSUPPORTED = "unsupported"
    """It uses an instruction or a feature that the target lacks, according to its compiler or simulator."""
    RACE = "race"
    """Two parts of it access the same memory without synchronisation, according to a simulator."""

    @classmethod
    def _missing_(cls, value: object) -> "Outcome | None":
        """Read `untried`, which earlier versions wrote of a screen that could not check the task's own sizes."""
        return cls.UNSUPPORTED if value == "untried" else None


class Grade(StrEnum):
    """How a candidate passed. Only a `measured` pass can be a win."""

    MEASURED = "measured"
    COMPILED = "compiled"
    SIMULATED = "simulated"


class CaseResult(Recorded):
    """One set of sizes and values on which the candidate was compared with the reference."""

    name: str
    outcome: Outcome
    max_error: float | None = None
    """Largest absolute difference from the fp64 reference; None if nothing could be compared."""
    error_ratio: float | None = None
    """Largest ratio of the difference to the tolerance at the same element; above 1 is incorrect."""
    detail: str = ""


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
    answering_us: Finite = 0.0
    """Time per call that an honest worker needs to be told and to answer. A candidate that answers in its place could
    use it to work unseen."""
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

    @property
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

    @property
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
        """Whether it would be a win if so many sessions had the mean and the spread of those so far."""
        return self.speedup / self._factor(sessions) > WIN_MARGIN

    def _factor(self, sessions: int) -> float:
        """By how much the ends of the interval over so many sessions differ from the speed-up."""
        spread = max(stdev(log(s.speedup) for s in self.sessions), LEAST_SPREAD)
        quantile = STUDENT[min(sessions - WIN_SESSIONS, len(STUDENT) - 1)]
        return exp(quantile * spread / sqrt(sessions))

    @property
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
        return UNSEEN * median(s.answering_us for s in self.sessions)

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

    @property
    def candidate_us(self) -> float:
        return self._mean(lambda each: median(t for s in each.sessions for t in s.candidate_us))

    @property
    def baseline_us(self) -> float:
        return self._mean(lambda each: median(t for s in each.sessions for t in s.baseline_us))

    def _mean(self, value: Callable[["Timing"], float]) -> float:
        return geometric_mean(map(value, self.workloads)) if self.other_workloads else value(self)

    @property
    def _all_sessions(self) -> list[Session]:
        return [session for each in self.workloads for session in each.sessions]


class Finding(Recorded):
    """A property of a compiled kernel, compared with the limit in the target's documents."""

    check: str
    state: Literal["ok", "over", "warn", "unknown"]
    """`over` refuses the candidate, `warn` does not; `unknown` means that no document states the limit, or that the
    kernel does not state what it needs."""
    message: str
    citation: str = ""
    """Id, for `kb cite`, of the fact that sets the limit."""


class KernelScreen(Recorded):
    """A kernel compiled for the target. Nothing here is a time."""

    kernel: str
    isa: IsaText
    num_warps: int | None
    """Wavefronts per workgroup; None if the kernel does not state the size of its workgroups."""
    registers: int
    """Vector registers per lane."""
    spills: int
    """Vector registers spilled per lane."""
    scratchpad_bytes: int
    """Bytes of scratchpad per workgroup."""
    occupancy: int | None
    """Wavefronts per SIMD unit or warps per SM that fit; None if a required fact is unknown."""
    matrix_instructions: dict[str, int]
    memory_instructions: dict[str, int]
    """Number of occurrences in the code by instruction; the width is part of the name."""
    findings: tuple[Finding, ...]

    @property
    def warps(self) -> str:
        return "an unknown number of warps" if self.num_warps is None else f"{self.num_warps} warps"


class Bottleneck(Recorded):
    """What limits the speed of a candidate that was timed."""

    kind: Literal["memory", "compute", "latency", "launch"]
    """`latency` if it reaches neither rate; `launch` is only in evidence of earlier versions."""
    memory: float
    """Share of the rate of memory that it reaches, if each input and output is moved once."""
    compute: float
    """Share of the rate of matrix operations that it reaches; 0 if it has none."""
    citations: tuple[str, ...]
    """Ids, for `kb cite`, of the facts that state these rates."""

    def __str__(self) -> str:
        reached = [
            f"{share:.0%} of the {what} rate"
            for what, share in (("memory", self.memory), ("compute", self.compute))
            if share
        ]
        return f"{self.kind}-bound: it reaches {' and '.join(reached)}"


class Evidence(Recorded):
    """The judge's complete record of one candidate on one task."""

    task: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    task_digest: str
    candidate_digest: str
    language: LanguageName
    target: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    sizes: dict[str, Natural] = Field(default_factory=dict)
    """`Interface.sizes` of the task; empty in evidence of a kb that did not write them."""
    precision: Precision = Precision.DEFAULT
    """That of the task."""
    outcome: Outcome
    detail: str = ""
    """A few lines: why it was refused, or, if it passed, how fast it could be and which checks were not possible."""
    grade: Grade | None = None
    cases: tuple[CaseResult, ...] = ()
    timing: Timing | None = None
    bottleneck: Bottleneck | None = Field(default=None, exclude_if=lambda found: found is None)
    """None if it was not timed, or the target's rates are unknown."""
    screen: tuple[KernelScreen, ...] = ()
    log: str = ""
    """The end of the candidate's output: data, not to be trusted."""
    sandbox_level: int
    environment: dict[str, str]
    """Versions of the software that compiled, ran and judged it; `machine` names the processor."""
    created: str
    """Time in UTC, ISO 8601."""

    @model_validator(mode="after")
    def _a_refused_candidate_has_no_time(self) -> Self:
        if (self.outcome is Outcome.PASSED) != (self.grade is not None):
            raise ValueError(f"outcome {self.outcome} does not fit grade {self.grade}")
        if (self.timing is not None) != (self.grade is Grade.MEASURED):
            raise ValueError(f"grade {self.grade} does not fit timing")
        return self

    @property
    def id(self) -> str:
        """Digest of the whole record."""
        return digest_of(json.dumps(self.stated, sort_keys=True))

    @property
    def stated(self) -> dict[str, Any]:
        """The record without values that are defaults: a field that is added later changes no digest."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @property
    def passed(self) -> bool:
        return self.outcome is Outcome.PASSED

    @property
    def speedup(self) -> float | None:
        """Speed-up over the best baseline; None if nothing was timed, or other work disturbed the times."""
        return self.timing.speedup if self.timing and not self.timing.busy else None

    @property
    def time_us(self) -> float:
        """Median time of a call, to compare candidates for one task on one machine; infinite if no time counts.

        Speed-ups compare candidates worse: each was timed beside other processes of the baseline, and on an H100 these
        differed by up to 22 % (benchmarks/results/process-luck-h100.json).
        """
        return inf if self.timing is None or self.timing.busy else self.timing.candidate_us

    @property
    def limit(self) -> str:
        """The sentence that it was tried at the task's own sizes only, and why; empty if other sizes were tried."""
        return next((line for line in self.detail.splitlines() if line.startswith(OWN_SIZES)), "")

    @property
    def won(self) -> bool:
        """Whether it was shown to be faster than the best baseline."""
        return self.timing is not None and self.timing.won

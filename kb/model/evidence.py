"""What the judge saw of a candidate. Only the judge makes these values; nothing a candidate says becomes evidence."""

import json
from enum import StrEnum
from statistics import median
from typing import Literal, Self

from pydantic import Field, model_validator

from kb.model.base import Frozen
from kb.model.kernels import LanguageName, digest_of
from kb.model.target import IsaText

WIN_MARGIN = 1.03
"""A win's speed-up must exceed this at the lower end of its interval, so that noise is not sold as a win."""
WIN_SESSIONS = 3
"""Timing sessions, each in a fresh process, that must all show the win."""


MOST_OTHERS = 0.15
"""Share of the machine that others may take while a win is timed: what competes for cores slows one side more."""


class Outcome(StrEnum):
    """Why a candidate was accepted or refused."""

    PASSED = "passed"
    COMPILE_ERROR = "compile_error"
    """It does not parse, compile, import or load."""
    INCOMPATIBLE_PARAMETERS = "incompatible_parameters"
    """It takes neither the reference's parameters by name nor `load_reference`."""
    RAISED = "raised"
    """It raised an exception when called."""
    CRASHED = "crashed"
    """Its process died, or did not end well."""
    TIMED_OUT = "timed_out"
    FORBIDDEN = "forbidden"
    """It tried what the sandbox refuses."""
    FORGED = "forged"
    """Something other than an answer came over the channel to the judge."""
    BAD_OUTPUT = "bad_output"
    """Wrong number, type, shape or dtype of outputs."""
    ALIASED_INPUT = "aliased_input"
    """An output lies in an input's memory."""
    MUTATED_INPUT = "mutated_input"
    INCORRECT = "incorrect"
    LATE_OUTPUT = "late_output"
    """An output changed after the call had returned."""
    STALE_OUTPUT = "stale_output"
    """Right when asked first, wrong when asked again with other values: a stored answer."""
    CLOCKS_DISAGREE = "clocks_disagree"
    """The time measured inside the worker is not the time measured outside."""
    TOO_FAST = "too_fast"
    """Faster than the machine can move the data, as a cited fact says."""
    NO_KERNEL = "no_kernel"
    """A Triton candidate that launched no Triton kernel."""
    OVER_LIMIT = "over_limit"
    """It compiles but needs more than the hardware has, as a cited fact says."""


class Grade(StrEnum):
    """What a pass is worth. Only `measured` can make a win."""

    MEASURED = "measured"
    COMPILED = "compiled"
    SIMULATED = "simulated"


class CaseResult(Frozen):
    """One set of sizes and values on which the candidate was compared with the reference."""

    name: str
    outcome: Outcome
    max_error: float | None = None
    """Largest absolute difference to the fp64 reference; None where nothing could be compared."""
    error_ratio: float | None = None
    """Largest difference over what is allowed at that element; above 1 is incorrect."""
    detail: str = ""


class Session(Frozen):
    """One interleaved timing session in a fresh worker. Times of one call in microseconds, one per round."""

    baseline_us: tuple[float, ...]
    candidate_us: tuple[float, ...]
    """By the judge's clock, outside the worker."""
    inside_us: tuple[float, ...]
    """By the clock inside the worker; never used but to compare."""
    speedup: float
    """Median baseline time over median candidate time; above 1 is faster."""
    low: float
    high: float
    """95 % bootstrap interval of the speed-up over rounds."""
    others: float = 0.0
    """Share of the machine's CPU time that other processes and other machines on the same host took meanwhile."""


class Timing(Frozen):
    baseline: str
    """The best of `baselines_us`."""
    baselines_us: dict[str, float]
    """Median of each baseline tried; the best was then timed beside the candidate."""
    sessions: tuple[Session, ...]

    @property
    def speedup(self) -> float:
        return median(s.speedup for s in self.sessions)

    @property
    def low(self) -> float:
        """The least favourable lower bound of all sessions."""
        return min(s.low for s in self.sessions)

    @property
    def high(self) -> float:
        """The most favourable upper bound of all sessions."""
        return max(s.high for s in self.sessions)

    @property
    def others(self) -> float:
        """Of the session that others disturbed most."""
        return max(s.others for s in self.sessions)

    @property
    def candidate_us(self) -> float:
        return median(t for s in self.sessions for t in s.candidate_us)

    @property
    def baseline_us(self) -> float:
        return median(t for s in self.sessions for t in s.baseline_us)


class Finding(Frozen):
    """One property of a compiled kernel beside what the target's documents allow."""

    check: str
    state: Literal["ok", "over", "warn", "unknown"]
    """`over` refuses the candidate, `warn` does not; `unknown`: no document states the limit."""
    message: str
    citation: str = ""
    """Id for `kb cite`, of the fact that sets the limit."""


class KernelScreen(Frozen):
    """A Triton kernel as compiled for the target. Nothing here is a time."""

    kernel: str
    isa: IsaText
    num_warps: int
    registers: int
    """Vector registers per lane."""
    spills: int
    """Vector registers spilled per lane."""
    scratchpad_bytes: int
    """Per workgroup."""
    occupancy: int | None
    """Wavefronts per SIMD unit or warps per SM that fit; None where a fact that it needs is not known."""
    matrix_instructions: dict[str, int]
    memory_instructions: dict[str, int]
    """Instruction (its width is in its name) to how often it stands in the code."""
    findings: tuple[Finding, ...]


class Evidence(Frozen):
    """The judge's whole account of one candidate on one task."""

    task: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    task_digest: str
    candidate_digest: str
    language: LanguageName
    target: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    outcome: Outcome
    detail: str = ""
    """One or a few lines: why it was refused; of what passed, how fast it could be, and what could not be done."""
    grade: Grade | None = None
    cases: tuple[CaseResult, ...] = ()
    timing: Timing | None = None
    screen: tuple[KernelScreen, ...] = ()
    log: str = ""
    """The end of what the candidate printed. Data, not to be believed."""
    sandbox_level: int
    environment: dict[str, str]
    """Versions of what compiled, ran and judged it; `machine` names the processor."""
    created: str
    """UTC, ISO 8601."""

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
        return digest_of(json.dumps(self.model_dump(mode="json"), sort_keys=True))

    @property
    def passed(self) -> bool:
        return self.outcome is Outcome.PASSED

    @property
    def speedup(self) -> float | None:
        """Against the best baseline; None where nothing was timed."""
        return self.timing.speedup if self.timing else None

    @property
    def won(self) -> bool:
        """Whether every session, and enough of them, show it faster than the best baseline on a machine left alone."""
        timing = self.timing
        if timing is None or len(timing.sessions) < WIN_SESSIONS or timing.low <= WIN_MARGIN:
            return False
        return timing.others <= MOST_OTHERS

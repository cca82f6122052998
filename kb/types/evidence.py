"""The judge's evidence on a candidate. Only the judge creates these values, never from a candidate's claims."""

import json
from enum import StrEnum
from math import inf
from typing import Any, Literal, Self

from pydantic import Field, PositiveFloat, model_validator

from kb.types.base import Frozen, Recorded
from kb.types.kernels import LanguageName, Precision, digest_of
from kb.types.target import IsaText
from kb.types.timing import Natural, Timing

OWN_SIZES = "tried at the task's own sizes only"
"""How the sentence of a verdict begins that says so."""
ABOVE_ROOF = 1.05
"""Share of a rate from which on more than noise lifts a candidate above it."""
AVOIDED = "it is faster than {} allows for the work of the reference, so it does less work, and that rate is no bound"


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

    def __str__(self) -> str:
        warps = "an unknown number of warps" if self.num_warps is None else f"{self.num_warps} warps"
        occupancy = "unknown" if self.occupancy is None else str(self.occupancy)
        return (
            f"{self.kernel} for {self.isa}: {warps}, {self.registers} registers, {self.spills} spilled, "
            f"{self.scratchpad_bytes:,} B scratchpad, occupancy {occupancy}"
        )


class Bottleneck(Recorded):
    """What limits the speed of a candidate that was timed."""

    memory: float
    """Share of the rate of memory that it reaches, if each input and output is moved once."""
    compute: float
    """Share of the rate of matrix operations that it reaches; 0 if it has none."""
    reachable: float = 0.0
    """Share of what torch reaches on this device with as many bytes and operations; 0 if that was not measured."""
    citations: tuple[str, ...]
    """Ids, for `kb cite`, of the facts that state these rates."""

    @property
    def reached(self) -> float:
        """Share of the lower roof: a rate, or what torch reaches, unless the candidate shows that more is possible."""
        return max(self.bound, self.reachable if self.reachable <= 1 else 0.0)

    @property
    def bound(self) -> float:
        """Share of the lower roof by the rates alone; 0 if it exceeds them."""
        return max((share for share in self._rates.values() if share <= ABOVE_ROOF), default=0.0)

    @property
    def kind(self) -> Literal["memory", "compute", "latency"]:
        """The rate that limits it; `latency` if it reaches half of neither. Records of earlier versions hold a kind."""
        return "latency" if self.bound < 0.5 else "memory" if self.bound == self.memory else "compute"

    @property
    def exceeded(self) -> tuple[str, ...]:
        """The rates that it exceeds by more than noise: their bounds count work that the candidate does not do."""
        return tuple(rate for rate, share in self._rates.items() if share > ABOVE_ROOF)

    @property
    def _rates(self) -> dict[str, float]:
        return {"the memory rate": self.memory, "the compute rate": self.compute}

    def __str__(self) -> str:
        shares = {**self._rates, "what torch reaches here": self.reachable}
        reached = [f"{share:.0%} of {what}" for what, share in shares.items() if share and what not in self.exceeded]
        said = f"{self.kind}-bound: it reaches {' and '.join(reached)}" if reached else "what limits it is not known"
        return "; ".join((said, *(AVOIDED.format(what) for what in self.exceeded)))


class Took(Recorded):
    """Seconds for a verdict; their sum is what it took."""

    compile_s: float
    """For compiling the candidate, with its first calls if these compile it."""
    baselines_s: float
    """Waiting for the baselines to compile, which they do between the turns of other judges of the same GPU."""
    judge_s: float
    turns_s: float = 0.0
    """Waiting for other judges of the same GPU, which take turns."""

    @property
    def seconds(self) -> float:
        return self.compile_s + self.baselines_s + self.judge_s + self.turns_s

    def __str__(self) -> str:
        baselines = f", its baselines in {self.baselines_s:.1f} s" if self.baselines_s >= 0.05 else ""
        return f"compiled in {self.compile_s:.1f} s{baselines}, judged in {self.judge_s:.1f} s"


class Estimate(Frozen):
    """A short timing of a candidate at the task's own sizes, right there on one set of inputs. It is no evidence."""

    time_us: PositiveFloat | None = None
    """Of the fastest call; None if the candidate was refused."""
    detail: str = ""
    """Why it was refused."""
    took_s: float = 0.0
    """Seconds that its judge took, if it may have waited for one; 0 is unknown."""


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
    cycles: Natural | None = Field(default=None, exclude_if=lambda cycles: cycles is None)
    """Of the longest call in a simulator, which are no time; None if nothing counted them."""
    took: Took | None = Field(default=None, exclude_if=lambda took: took is None)
    """None in evidence of a kb that did not write it."""
    log: str = ""
    """The end of the candidate's output: data, not to be trusted."""
    sandbox_level: int
    environment: dict[str, str]
    """Versions of the software that compiled, ran and judged it; `machine` names the processor, `gpu` the GPU with its
    power limit."""
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
    def untimed(self) -> bool:
        """Whether it passed and has no time that counts: no device timed it, or other work disturbed the times."""
        return self.passed and self.speedup is None

    @property
    def disturbed(self) -> bool:
        """Whether other work disturbed its times, so that it may be judged again."""
        return self.passed and self.timing is not None and self.timing.busy

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

    @property
    def machine(self) -> str:
        """The GPU that ran it, else the CPU; empty if neither was recorded."""
        return self.environment.get("gpu") or self.environment.get("machine", "")

"""The base class of all devices on which candidates are judged, with its input and its verdict."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from eval.clock.baseline_sources import SOURCES, settings_for
from eval.languages.registry import TORCH
from eval.machine import CpuUse
from eval.roofline import bottleneck, implausible, task_roofline
from eval.supervisor.language import JudgedLanguage
from eval.supervisor.settings import ALL_GUARDS, Guard, Spent
from eval.worker.fault import Fault
from kb.errors import JudgeError
from kb.types.evidence import Bottleneck, CaseResult, Grade, KernelScreen, Outcome
from kb.types.fact import Fact
from kb.types.kernels import Candidate, Interface, Task, Workload
from kb.types.target import Isa
from kb.types.timing import WIN_SESSIONS, Timing

if TYPE_CHECKING:  # these import torch, which the driver does not load
    from eval.clock.baselines import Baselines
    from eval.languages.toolchain import ToolchainLanguage
    from eval.oracle.cases import Case
    from eval.oracle.reference import Reference
    from eval.supervisor.trial import Trial

SURPRISING, NEAR_ROOFLINE = 3.0, 0.95
"""A win by more than the one factor, or that reaches more than the other share of a rate, is checked a second time."""
CHECKS_AHEAD = 3
"""Workers that start in advance to check candidates, where there is a warm pool: a wrong one is refused before the next
worker has started."""
QUICK_S = 20.0
"""Time limit for one build or call where only a quick timing is asked for."""
DOUBT = "code that answers in the worker's place could hide {:.0f} us a call, more than this win: read the source"
SAID, PLACE = 1.005, "in the candidate's place the baseline is {:.2f} times as fast, which is counted out"


class CaseSizes(NamedTuple):
    """Maximum number of elements in all tensors of a case on this device, if its sizes are large or small ones that the
    judge chose, or the task's."""

    large: int
    small: int
    given: int | None
    """The task's own sizes are skipped if they exceed it; None: they are always tried."""
    numbers: bool = True
    """Whether candidates are told the numbers given to `Model(...)`."""


@dataclass(frozen=True)
class Setup:
    """What a device judges for, and how strictly."""

    task: Task
    reference: Reference
    interface: Interface
    target: str
    isa: Isa
    facts: Sequence[Fact]
    """Facts about the target, the only source of limits and rates."""
    level: int
    """Sandbox level."""
    call_s: float
    """Time limit for one build or call."""
    guards: frozenset[Guard] = ALL_GUARDS
    toolchain: ToolchainLanguage | None = None
    """What judges instead of a device of this machine."""
    workload: Workload = field(default_factory=dict)
    """Which one of several the task is at; empty if it has only one."""
    spent: Spent = field(default_factory=Spent)
    """By the verdict in progress."""


@dataclass(frozen=True)
class Verdict:
    """What a device decides about a candidate. The fields are those of Evidence."""

    outcome: Outcome = Outcome.PASSED
    grade: Grade | None = None
    detail: str = ""
    timing: Timing | None = None
    bottleneck: Bottleneck | None = None
    screen: tuple[KernelScreen, ...] = ()
    cycles: int | None = None
    log: str = ""

    @property
    def surprising(self) -> bool:
        """Whether it is a win by so much that a mistake of the judge is as likely."""
        if self.timing is None or not self.timing.won:
            return False
        reached = max(self.bottleneck.memory, self.bottleneck.compute) if self.bottleneck else 0.0
        return self.timing.speedup > SURPRISING or reached > NEAR_ROOFLINE


class Device(ABC):
    """A device on which candidates are judged. Each has a subclass in eval/devices/."""

    backends: ClassVar[tuple[str, ...]] = ()
    """It may judge for targets whose ISA has one of these backends."""
    languages: tuple[str, ...]
    """Names of the languages, the usual one first."""
    sizes: CaseSizes

    runs = True
    """Whether it runs candidates; some only build them."""
    is_timing: ClassVar[bool] = False
    """Whether it times them."""
    tensors: ClassVar[str] = "cpu"
    """Where torch keeps the tensors of references and candidates."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup

    @classmethod
    def serves(cls, isa: Isa) -> bool:
        """Whether it judges for targets of this kind on this machine."""
        return isa.backend in cls.backends

    @classmethod  # noqa: B027 - a CPU has swap, and what is only built needs no memory
    def check_room(cls, interface: Interface) -> None:
        """Raises TaskSizeError if the device has too little memory to judge a task."""

    @classmethod  # noqa: B027 - most need nothing
    def prepare(cls) -> None:
        """Start in the background what every task needs and what takes long to start."""

    @property
    def timed_case(self) -> Case | None:
        """The inputs on which candidates are timed, with the expected outputs; None if they are not timed."""
        return None

    def start(self) -> None:  # noqa: B027
        """Start in the background what every candidate of the task needs and what takes long to start."""

    @abstractmethod
    def judge(
        self, candidate: Candidate, language: JudgedLanguage, cases: Sequence[Case], results: list[CaseResult]
    ) -> Verdict:
        """Decide on a candidate in one of `languages`.

        Args:
            results: Receives the result of each passed case.

        Raises:
            Fault: the candidate is refused.
            JudgeError: this machine cannot judge it.
        """

    def quick_time_us(self, candidate: Candidate, language: JudgedLanguage) -> float:
        """Time of a call, in microseconds, from a few calls: see `kb.types.protocols.Judge.estimate`.

        Raises:
            Fault: the candidate is refused.
            JudgeError: this device times nothing.
        """
        raise JudgeError(f"kernels for {self.setup.target} are not timed here", hint="verify them instead")

    def trial(self, candidate: Candidate, language: JudgedLanguage, **settings: Any) -> Trial:
        """The settings for running a candidate as it is timed; `settings` are fields of Trial that differ."""
        from eval.supervisor.trial import Trial

        setup = self.setup
        defaults = {"level": setup.level, "call_s": setup.call_s, "guards": setup.guards, "spent": setup.spent}
        return Trial(candidate, language=language, **{**defaults, **settings})

    def close(self) -> None:  # noqa: B027
        """End what it has started."""

    def attainable(self) -> tuple[str, ...]:
        """The roofline of the task in words; empty if the target's rates are unknown."""
        longest = task_roofline(self.setup.interface, self.setup.facts).ceilings[:1]
        return tuple(f"at best {bound} [kb cite {bound.fact.citation.id}]" for bound in longest)


class TimingDevice(Device):
    """A device of this machine, on which candidates run natively and are timed against the fastest baseline."""

    is_timing = True

    @cached_property
    def baselines(self) -> Baselines:
        from eval.clock.baselines import Baselines

        def trial_of(source: Candidate) -> Trial:
            return self.trial(source, TORCH, warm_pool=None, spent=Spent(), **settings_for(source.source))

        setup = self.setup
        return Baselines(
            setup.task, setup.reference, self.sources(), trial_of, spent=setup.spent, **self.baseline_limits()
        )

    def sources(self) -> Mapping[str, str]:
        """What makes candidates of the reference, by the name of the baseline."""
        return SOURCES

    @property
    def timed_case(self) -> Case:
        return self.baselines.case

    @cached_property
    def _reachable_s(self) -> float:
        from eval.clock.reachable import reachable_s

        return reachable_s(self.setup.interface, self.tensors)

    @abstractmethod
    def baseline_limits(self) -> Mapping[str, Any]:
        """How many baselines run at the same time, and where their case is: optional arguments of Baselines."""

    def start(self) -> None:
        self.baselines.start()

    def judge(
        self, candidate: Candidate, language: JudgedLanguage, cases: Sequence[Case], results: list[CaseResult]
    ) -> Verdict:
        from eval.clock.sessions import time_candidate

        trial = self.trial(candidate, language)
        trial.start_warm_workers(checks=CHECKS_AHEAD, sessions=WIN_SESSIONS)
        with self._memory_that_suffices():
            log = trial.check(cases, results)
            with self._turn():
                timing, busy = time_candidate(trial, self.baselines, cases, self._watch, self.setup.workload)
                return self.timed_verdict(timing, (busy, *self.baselines.notes), log)

    def _turn(self) -> AbstractContextManager[None]:
        """Have the device alone, when all that starts has started."""
        return nullcontext()

    def _memory_that_suffices(self) -> AbstractContextManager[None]:
        """Raises Fault or JudgeError if the device's own memory is full; a CPU has swap."""
        return nullcontext()

    def _watch(self) -> CpuUse:
        """Start to watch what else the machine does."""
        return CpuUse()

    def quick_time_us(self, candidate: Candidate, language: JudgedLanguage) -> float:
        from eval.clock.quick_timing import quick_time_us

        guards = self.setup.guards - {Guard.OVERWRITING, Guard.REST}
        trial = self.trial(candidate, language, call_s=min(QUICK_S, self.setup.call_s), guards=guards)
        with self._turn(), self._memory_that_suffices():
            return quick_time_us(trial, self.baselines)

    def close(self) -> None:
        if baselines := vars(self).get("baselines"):
            baselines.close()

    def timed_verdict(self, timing: Timing, notes: Sequence[str], log: str) -> Verdict:
        """The verdict on a right candidate that was timed. Raises Fault if it was faster than the target can be."""
        seconds, interface, facts = timing.candidate_us / 1e6, self.setup.interface, self.setup.facts
        if why := implausible(seconds, interface, facts):
            raise Fault(Outcome.TOO_FAST, why)
        limit = None if timing.busy else bottleneck(seconds, interface, facts, reachable_s=self._reachable_s)
        doubt = DOUBT.format(timing.unseen_us) if timing.doubtful else ""
        place = PLACE.format(timing.place) if timing.place >= SAID else ""
        detail = "; ".join(filter(None, (*notes, doubt, place, *self.attainable())))
        return Verdict(grade=Grade.MEASURED, timing=timing, bottleneck=limit, log=log, detail=detail)

"""What every device has in common: where candidates for a target are judged, and what a verdict holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from eval.roofline import task_roofline
from eval.worker.process import ALL_GUARDS, Guard
from kb.errors import FactError
from kb.model.evidence import CaseResult, Grade, KernelScreen, Outcome, Timing
from kb.model.fact import Fact
from kb.model.kernels import Candidate, Interface
from kb.model.target import Isa

if TYPE_CHECKING:  # torch; a driver asks for a device's languages without it
    from eval.cases import Case
    from eval.reference import Reference
    from eval.worker.language import JudgedLanguage


class CaseSizes(NamedTuple):
    """Most elements of all tensors together in the cases that a device tries."""

    odd: int
    """With odd sizes."""
    even: int
    given: int | None
    """With the task's own sizes, which are left out when they have more; None when they are always tried."""


@dataclass(frozen=True)
class Bench:
    """What a device is given to judge with: a task, its target, and how strict to be."""

    reference: Reference
    interface: Interface
    target: str
    isa: Isa
    facts: Sequence[Fact]
    """Of the target; limits and rates come from these alone."""
    level: int
    """Of the sandbox."""
    call_s: float
    """Longest time for one build or call."""
    guards: frozenset[Guard] = ALL_GUARDS


@dataclass(frozen=True)
class Judgement:
    """What a device decided on a candidate that no case refused. The fields are those of Evidence."""

    outcome: Outcome = Outcome.PASSED
    grade: Grade | None = None
    detail: str = ""
    timing: Timing | None = None
    screen: tuple[KernelScreen, ...] = ()
    log: str = ""


class Device(ABC):
    """Where candidates are judged. One subclass each, in eval/devices/.

    A subclass says which languages it judges, on what sizes, how tensors go to the worker and come back, what clock
    and which baselines a candidate is timed by, if it is timed at all.
    """

    languages: ClassVar[tuple[str, ...]]
    """By name, the usual one first."""
    sizes: ClassVar[CaseSizes]

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    @staticmethod
    @abstractmethod
    def serves(isa: Isa) -> bool:
        """Whether it judges for targets of this ISA."""

    @abstractmethod
    def judge(
        self, candidate: Candidate, language: JudgedLanguage, cases: Sequence[Case], results: list[CaseResult]
    ) -> Judgement:
        """Decide on a candidate in one of `languages`.

        Args:
            results: Takes what came of each case that it passed.

        Raises:
            Fault: the candidate is refused.
            JudgeError: this machine cannot judge it.
        """

    def attainable(self) -> tuple[str, ...]:
        """The roofline of the task in words; nothing where the target's rates are not known."""
        try:
            bound = task_roofline(self.bench.interface, self.bench.facts).ceilings[0]
        except FactError:
            return ()
        return (f"at best {bound} [kb cite {bound.fact.citation.id}]",)

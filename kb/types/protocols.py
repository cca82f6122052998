"""Protocols between the packages, so that they need not import each other."""

import time
from collections.abc import Sequence
from enum import StrEnum
from math import inf
from typing import Protocol, Self, runtime_checkable

from pydantic import Field

from kb.types.base import Frozen
from kb.types.briefing import Briefing
from kb.types.evidence import Estimate, Evidence
from kb.types.kernels import Candidate, Interface, Language, Task
from kb.types.skill import Skill, SkillStanding
from kb.types.terms import Terms


class Stage(StrEnum):
    """What the next candidate is for."""

    DRAFT = "draft"
    """There is none yet."""
    FIX = "fix"
    """The last one was refused."""
    IMPROVE = "improve"
    """The last one passed."""
    RETHINK = "rethink"
    """The last ones were right, and none was faster than one before."""


class Proposal(Frozen):
    """A candidate that a run judges."""

    candidate: Candidate
    note: str = ""
    """One line that says what the candidate is or what it changes."""
    skills_used: tuple[str, ...] = ()
    """Names of the skills that it was made from."""
    recalled: str = ""
    """Name of the skill whose kernel it is, unchanged; the run sets it."""
    author: str = ""
    """Who wrote it; empty if nobody was asked."""
    stage: Stage | None = None
    """What its author was asked for; None for settings that the tuner found, and for kernels of skills or by hand."""
    question: int = 0
    """Number of the question that its author answered; 0: that after the last candidate's."""
    parent: int = 0
    """Number of the attempt that it changes, from 1; 0 if there is none."""
    plans: tuple[str, ...] = ()
    """Other structures that its author would try, a line each."""
    settings: tuple[dict[str, int], ...] = ()
    """Values of its parameters that may be fast: those that its author proposes, or that skills hold."""

    @property
    def is_tuned(self) -> bool:
        """Whether the tuner found its values: nobody wrote it anew."""
        return self.stage is None and self.parent > 0


class Attempt(Proposal):
    """A candidate that was proposed and judged in this run."""

    evidence: Evidence

    def quick_us(self, tried: "Sequence[Tried]") -> float:
        """The quick time of its own settings in microseconds; infinite if there is none."""
        kernel = self.candidate.template_digest, self.candidate.values
        own = (one.time_us for one in tried if (one.template, one.values) == kernel)
        return next(filter(None, own), inf)

    def cost(self, tried: "Sequence[Tried]") -> tuple[float, ...]:
        """What makes it worse than another that passed: its time; without one that counts its quick time, the cycles of
        a simulator, or what the compiled kernels let expect.

        Bytes against the roofline do not rank: a screen counts instructions in the code, and not how often they run.
        """
        found = self.evidence
        quick_us = inf if found.time_us < inf else self.quick_us(tried)
        spills = sum(screen.spills for screen in found.screen)
        occupancy = min((screen.occupancy or 0 for screen in found.screen), default=0)
        return found.time_us, quick_us, inf if found.cycles is None else found.cycles, spills, -occupancy


class Tried(Frozen):
    """Values of a kernel's parameters that were timed quickly. It is no evidence."""

    template: str
    """Digest of the kernel whatever its values."""
    values: dict[str, int]
    time_us: float | None = None
    """None if it was refused."""
    took_s: float = 0.0
    """Seconds that this took; 0 is unknown."""

    @classmethod
    def by(cls, judge: "Judge", kernel: Candidate) -> Self:
        """Time a kernel quickly; errors as in `Judge.estimate`."""
        start, found = time.monotonic(), judge.estimate(kernel)
        took_s = round(found.took_s or time.monotonic() - start, 3)
        return cls(template=kernel.template_digest, values=kernel.values, time_us=found.time_us, took_s=took_s)


class Reason(Frozen):
    """One reason for the rank of a skill."""

    text: str
    worth: float


class RecalledSkill(Frozen):
    """A skill as a run gets it."""

    skill: Skill
    """Without its kernel if that is for a sibling of the target."""
    standing: SkillStanding
    reasons: tuple[Reason, ...] = ()
    """Why it has its rank."""
    whole: bool = False
    """Whether it is for the operation that the task is named after, or the only one that it calls."""

    @property
    def score(self) -> float:
        """The sum of what its reasons are worth; higher is better."""
        return sum(reason.worth for reason in self.reasons)


class Request(Frozen):
    """Everything a synthesizer gets to propose the next candidate."""

    task: Task
    interface: Interface
    target: str
    language: Language
    terms: Terms = Terms()
    stage: Stage | None = None
    """What the prompt is for (default: it follows from the attempts)."""
    base: int = 0
    """Number of the attempt that the candidate is to change, from 1; 0 if that is the last."""
    structure: str = ""
    """The structure that it is to have, as an author planned it; empty if any other than those tried will do."""
    begun: tuple[str, ...] = ()
    """The structures that authors planned and were asked for."""
    is_searched: bool = False
    """Whether `synth.search` goes on from the answer: it takes other structures and values of parameters from there."""
    is_diagnosed: bool = True
    """Whether the prompt says what limits a kernel; otherwise only what the judge found and printed."""
    briefing: Briefing = Briefing()
    skills: tuple[RecalledSkill, ...] = ()
    """Best first."""
    rules: tuple[RecalledSkill, ...] = ()
    """What mended kernels of other tasks that were refused; best first."""
    attempts: tuple[Attempt, ...] = ()
    """Attempts in the order in which they were made."""
    tried: tuple[Tried, ...] = ()
    """Settings that were timed quickly."""
    budget_tokens: int = Field(default=6000, gt=0)
    """Maximum length of the prompt, beside the task's source and the kernels that it shows."""
    seed: int = 0


class Judge(Protocol):
    """Decides on candidates for one task and target."""

    @property
    def interface(self) -> Interface:
        """Interface of the task."""

    def verify(self, candidate: Candidate) -> Evidence:
        """Raises JudgeError when the judge, not the candidate, is at fault."""

    def estimate(self, candidate: Candidate) -> Estimate:
        """A quick timing, to search with; raises JudgeError as `verify` does, or if the target is not timed here."""


@runtime_checkable
class JudgesAhead(Judge, Protocol):
    """Judges several candidates at a time, and begins with what will be asked for."""

    settings_at_once: int
    """The judge times so many settings at the same time; 0 if it times none."""
    in_rounds: bool
    """Whether it begins with what it knows when it is asked for a verdict, and takes nothing in before it has that."""

    def expect(self, candidate: Candidate, *, estimate: bool = False) -> object:
        """Say that a verdict on this candidate will be asked for, or a quick timing of it."""

"""Protocols between the packages, so that they need not import each other."""

from typing import Protocol

from pydantic import Field

from kb.model.base import Frozen
from kb.model.evidence import Evidence
from kb.model.fact import Fact
from kb.model.kernels import Candidate, Interface, Language, Task
from kb.model.passages import Passage
from kb.model.skill import Skill, SkillStanding


class Attempt(Frozen):
    """A candidate that was proposed and judged in this run."""

    candidate: Candidate
    evidence: Evidence
    note: str = ""
    """The synthesizer's description of it."""


class RecalledSkill(Frozen):
    """A skill as a run gets it."""

    skill: Skill
    standing: SkillStanding


class Request(Frozen):
    """Everything a synthesizer gets to propose the next candidate."""

    task: Task
    interface: Interface
    target: str
    language: Language
    facts: tuple[Fact, ...] = ()
    passages: tuple[Passage, ...] = ()
    """Best first."""
    skills: tuple[RecalledSkill, ...] = ()
    """Best first."""
    attempts: tuple[Attempt, ...] = ()
    """Attempts in the order in which they were made."""
    budget_tokens: int = Field(default=6000, gt=0)
    """Maximum length of the prompt."""
    seed: int = 0


class Proposal(Frozen):
    """The answer of a synthesizer."""

    candidate: Candidate
    note: str = ""
    """One line that says what the candidate is or what it changes."""
    skills_used: tuple[str, ...] = ()
    usage: dict[str, int] = Field(default_factory=dict)
    """Tokens used, by kind."""


class Synthesizer(Protocol):
    """Proposes candidates. It never judges one."""

    name: str

    def propose(self, request: Request) -> Proposal | None:
        """The next candidate; None if there is nothing left to try.

        Raises:
            SynthesisError: there was no usable answer, and an immediate retry would not help.
        """


class Judge(Protocol):
    """Decides on candidates for one task and target."""

    interface: Interface
    """Interface of the task."""

    def verify(self, candidate: Candidate) -> Evidence:
        """Raises JudgeError when the judge, not the candidate, is at fault."""

"""A skill: a kernel that worked, or that may work, with what is known of it."""

from enum import StrEnum
from pathlib import Path

from kb.model.base import Frozen
from kb.model.evidence import Evidence
from kb.model.kernels import Candidate


class SkillStanding(StrEnum):
    """What a skill is worth, read off its evidence and never typed in."""

    VERIFIED = "verified"
    """The judge measured a win of this very code."""
    SCREENED = "screened"
    """It passed and was not timed, or was timed and did not win."""
    HYPOTHESIS = "hypothesis"
    """No evidence for this code."""


class Skill(Frozen):
    """One directory in the Agent Skills form."""

    name: str
    description: str
    body: str
    """Markdown below the front matter: what, when, when not, why, what failed."""
    target: str
    """The target it was written for; `any` for a template."""
    candidate: Candidate
    suffix: str
    """Of the kernel's file."""
    evidence: tuple[Evidence, ...] = ()
    folder: Path | None = None
    """Where it lies; None before it is published."""

    @property
    def standing(self) -> SkillStanding:
        own = [e for e in self.evidence if e.candidate_digest == self.candidate.digest and e.passed]
        if any(e.won for e in own):
            return SkillStanding.VERIFIED
        return SkillStanding.SCREENED if own else SkillStanding.HYPOTHESIS

    @property
    def best(self) -> Evidence | None:
        """Its fastest measured win; None when there is none."""
        wins = [e for e in self.evidence if e.won and e.candidate_digest == self.candidate.digest]
        return max(wins, key=lambda e: e.speedup or 0.0, default=None)

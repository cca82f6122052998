"""A skill: a kernel that worked or may work, with its description and evidence."""

from enum import StrEnum
from pathlib import Path

from kb.model.base import Frozen
from kb.model.evidence import Evidence
from kb.model.kernels import Candidate


class SkillStanding(StrEnum):
    """How well a skill is proven, computed from its evidence and never written by hand."""

    VERIFIED = "verified"
    """The judge measured a win of exactly this code."""
    SCREENED = "screened"
    """It passed, but was not timed or did not win."""
    HYPOTHESIS = "hypothesis"
    """There is no evidence that this code passes."""


class Skill(Frozen):
    """One directory in the Agent Skills form."""

    name: str
    description: str
    body: str
    """Markdown below the front matter: what it is, when to use it, when not, why it is fast, what failed."""
    target: str
    """The target it was written for; `any` for a template."""
    candidate: Candidate
    suffix: str
    """Suffix of the kernel's file."""
    evidence: tuple[Evidence, ...] = ()
    folder: Path | None = None
    """Its directory; None before it is published."""

    @property
    def standing(self) -> SkillStanding:
        own = [e for e in self.evidence if e.candidate_digest == self.candidate.digest and e.passed]
        if any(e.won for e in own):
            return SkillStanding.VERIFIED
        return SkillStanding.SCREENED if own else SkillStanding.HYPOTHESIS

    @property
    def best(self) -> Evidence | None:
        """Its fastest measured win; None if there is none."""
        wins = [e for e in self.evidence if e.won and e.candidate_digest == self.candidate.digest]
        return max(wins, key=lambda e: e.speedup or 0.0, default=None)

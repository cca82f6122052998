"""A skill: something that worked, or failed, in a kernel: when it applies, and the evidence for it."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field

from kb.types.base import Frozen
from kb.types.evidence import Evidence
from kb.types.kernels import Candidate, LanguageName, digest_of
from kb.types.skill_record import SkillRecord


class SkillKind(StrEnum):
    KERNEL = "kernel"
    """A kernel, which may have parameters."""
    TECHNIQUE = "technique"
    """A change to a kernel: when it helps, how it is made, and what it gained."""
    PITFALL = "pitfall"
    """A condition under which kernels fail or are slow, why, and what mended it."""
    PLAYBOOK = "playbook"
    """A procedure."""


class SkillStanding(StrEnum):
    """How well a skill is proven, computed from its evidence and records and never written by hand; the best first."""

    ACTIVE = "active"
    """Verified, and accepted by a curator."""
    VERIFIED = "verified"
    """The judge of this home, or someone whom it trusts, measured what it says of exactly its kernels."""
    SCREENED = "screened"
    """It passed, but was not timed, or did not win."""
    HYPOTHESIS = "hypothesis"
    """There is no evidence from here that it passes."""
    STALE = "stale"
    """It was verified, but in an environment of other major versions, long ago, or from a passage that has changed."""
    SUPERSEDED = "superseded"
    """A better skill has taken its place."""
    RETIRED = "retired"
    """A curator rejected or retired it."""


Word = Annotated[str, Field(pattern=r"^\S+$")]


class Preconditions(Frozen):
    """Where a skill applies, beside its target and language. What is empty allows everything."""

    ops: tuple[Word, ...] = ()
    """Operations, each a word of a task's name, such as `softmax`."""
    dtypes: tuple[Word, ...] = ()
    """Names as in torch: `float16`."""
    shapes: str = ""
    """The skill applies if this holds for `Interface.sizes` of the task: `cols <= 16384 and rows >= 500`."""
    toolchain: str = ""
    """Versions as in a requirements file, such as `triton>=3.2,<4 torch>=2.6`."""


class Skill(Frozen):
    """One directory in the Agent Skills form."""

    name: str
    kind: SkillKind = SkillKind.KERNEL
    description: str
    body: str
    """Markdown below the front matter: what it is, when to use it, when not, why it is fast, what failed."""
    target: str
    """The target it was written for; `any` for a template."""
    language: LanguageName | None = None
    """None if it holds for every language."""
    preconditions: Preconditions = Preconditions()
    candidate: Candidate | None
    """The kernel; other kinds may do without."""
    worse: Candidate | None = None
    """What the kernel was made from and is better than: a pitfall's refused kernel, a technique's slower one."""
    suffix: str
    """Suffix of the kernels' files."""
    license: str = ""
    compatibility: str = ""
    """What it needs, in words."""
    citations: tuple[Word, ...] = ()
    """Ids of the passages that it rests on."""
    evidence: tuple[Evidence, ...] = ()
    signatures: dict[str, str] = Field(default_factory=dict)
    """Signatures of evidence, by its id."""
    records: tuple[SkillRecord, ...] = ()
    folder: Path | None = None
    """Its directory; None before it is published."""

    @property
    def content_digest(self) -> str:
        """Digest of all that is read as the skill, without its evidence and records."""
        content = self.model_dump_json(exclude={"evidence", "signatures", "records", "folder"}, exclude_defaults=True)
        return digest_of(content)

    def is_about(self, evidence: Evidence) -> bool:
        """Whether evidence is on its kernel. Nothing is on a skill without one: its text was never measured."""
        return self.candidate is not None and evidence.candidate_digest == self.candidate.digest

    @property
    def own_evidence(self) -> tuple[Evidence, ...]:
        """The evidence that it is about, here or elsewhere."""
        return tuple(e for e in self.evidence if self.is_about(e))

    @property
    def best(self) -> Evidence | None:
        """The fastest win among its own evidence; None if there is none."""
        wins = [e for e in self.own_evidence if e.won]
        return max(wins, key=lambda e: e.speedup or 0.0, default=None)

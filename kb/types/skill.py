"""A skill: something that worked, or failed, in a kernel: when it applies, and the evidence for it."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field

from kb.types.base import Frozen, Recorded
from kb.types.evidence import Evidence
from kb.types.kernels import Candidate, LanguageName, digest_of


class SkillKind(StrEnum):
    """A kernel is proven by measurements. The others are prose, on which a curator decides."""

    KERNEL = "kernel"
    """A kernel, which may have parameters."""
    TECHNIQUE = "technique"
    """A change to a kernel: when it helps, how it is made, and what it gained."""
    PITFALL = "pitfall"
    """A condition under which kernels fail or are slow, why, and what mended it."""
    PLAYBOOK = "playbook"
    """A procedure."""


class SkillStanding(StrEnum):
    """How far a skill can be trusted, computed from its evidence and records and never written by hand."""

    VERIFIED = "verified"
    """A kernel that won when it was measured here; prose that a curator accepted."""
    STALE = "stale"
    """It was verified, but in an environment of other major versions, long ago, or from a passage that has changed."""
    SCREENED = "screened"
    """A kernel that passed here, but was not timed, or did not win; a rule that is on trial."""
    HYPOTHESIS = "hypothesis"
    """Nothing that was measured here speaks for the kernel; nobody accepted the prose."""
    RETIRED = "retired"
    """A curator rejected or retired it."""


Verb = Literal["propose", "accept", "reject", "retire", "restore", "use"]


class SkillRecord(Recorded):
    """Who proposed a skill, or what a curator decided. Records are added and never change."""

    verb: Verb
    """Earlier versions also wrote `restore`, which took back a rejection or a retirement, and `use`, after runs."""
    skill: str
    content_digest: str
    """Of the skill as it was then; a record about other content does not count."""
    created: str
    """Time in ISO 8601, UTC."""
    by: str
    """Who did it."""
    reason: str = ""

    @property
    def id(self) -> str:
        """Digest of the record."""
        return digest_of(self.model_dump_json())


Word = Annotated[str, Field(pattern=r"^\S+$")]


class Preconditions(Frozen):
    """Where a skill applies, beside its target and language. What is empty allows everything."""

    ops: tuple[Word, ...] = ()
    """Operations, each a word of a task's name, such as `softmax`."""
    dtypes: tuple[Word, ...] = ()
    """Names as in torch: `float16`."""


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
    refusals: tuple[Word, ...] = ()
    """Outcomes, such as `incorrect`, of kernels that a pitfall helps to mend; with one it is a rule."""
    candidate: Candidate | None
    """The kernel; prose may do without."""
    suffix: str
    """Suffix of the kernel's file."""
    license: str = ""
    compatibility: str = ""
    """What it needs, in words."""
    citations: tuple[Word, ...] = ()
    """Ids of the passages that it rests on."""
    evidence: tuple[Evidence, ...] = ()
    records: tuple[SkillRecord, ...] = ()
    """Those about its present content, in order of time."""
    folder: Path | None = None
    """Its directory; None before it is published."""

    @property
    def content_digest(self) -> str:
        """Digest of all that is read as the skill, without its evidence and records."""
        return digest_of(self.model_dump_json(exclude={"evidence", "records", "folder"}, exclude_defaults=True))

    def differing(self, other: Self) -> list[str]:
        """The names of the fields in which the content of two skills differs."""
        fields = (name for name in type(self).model_fields if name not in ("evidence", "records", "folder"))
        return [name for name in fields if getattr(self, name) != getattr(other, name)]

    @property
    def is_prose(self) -> bool:
        return self.kind is not SkillKind.KERNEL

    @property
    def own_evidence(self) -> tuple[Evidence, ...]:
        """The evidence on its kernel, from here or elsewhere. None is on a skill without one: no text is measured."""
        return tuple(e for e in self.evidence if self.candidate and e.candidate_digest == self.candidate.digest)

    @property
    def is_rule(self) -> bool:
        """Whether it says what mends kernels that are refused in a certain way."""
        return self.is_prose and bool(self.refusals)

    @property
    def trials(self) -> tuple[Evidence, ...]:
        """Of a rule: the first kernel on each other task whose author had it."""
        learnt = {e.task_digest for e in self.own_evidence}
        others = [e for e in sorted(self.evidence, key=lambda e: e.created) if e.task_digest not in learnt]
        return tuple({e.task_digest: e for e in reversed(others)}.values()) if self.is_rule else ()

    @property
    def helped(self) -> int:
        """Trials that were not refused so again."""
        return sum(e.outcome not in self.refusals for e in self.trials)

    @property
    def best(self) -> Evidence | None:
        """The win with the largest speed-up among its own evidence; None if there is none."""
        return max((e for e in self.own_evidence if e.won), key=lambda e: e.speedup or 0.0, default=None)

    @property
    def last_decision(self) -> SkillRecord | None:
        """The last of a curator's decisions; None if there is none."""
        return next((record for record in reversed(self.records) if record.verb not in ("propose", "use")), None)

    @property
    def waits(self) -> bool:
        """Whether somebody proposed it and nobody has decided on it yet."""
        return self.last_decision is None and any(record.verb == "propose" for record in self.records)

    @property
    def is_retired(self) -> bool:
        """Whether a curator rejected or retired it, and has not accepted it since."""
        return self.last_decision is not None and self.last_decision.verb in ("reject", "retire")

    @property
    def gist(self) -> tuple[str | None, ...]:
        """What makes two skills one: the same kernel, or as prose the same text, for the same target."""
        said = self.candidate.digest if self.candidate and not self.is_prose else self.body.strip()
        return self.kind, self.target, self.language, said

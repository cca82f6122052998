"""A curator's work on skills: reviews of proposals, differences between skills, decisions. Decisions are for people."""

import difflib
import getpass
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from kb.errors import SkillError
from kb.skillbook.library import record_of
from kb.skillbook.lint import Finding, lint
from kb.types.base import Frozen
from kb.types.evidence import Evidence
from kb.types.skill import Skill, SkillStanding
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.reverifying import command_for

Decided = Literal["accept", "reject", "retire"]


class Measured(Frozen):
    """One piece of evidence, as a curator weighs it."""

    evidence: Evidence
    here: bool
    """Whether this home's judge gave it; otherwise it is only claimed."""
    own: bool
    """Whether it is on the skill's kernel, if the skill has one."""

    @property
    def trust(self) -> str:
        return "measured here" if self.here else "claimed"

    @property
    def interval(self) -> str:
        """The 95 % interval of the speed-up; empty if it was not timed, or other work disturbed the times."""
        timing = self.evidence.timing
        return f"{timing.low:.2f} to {timing.high:.2f}" if timing and not timing.busy else ""


class Review(Frozen):
    """All that a curator needs to decide on one skill."""

    skill: Skill
    """Without its evidence."""
    standing: SkillStanding
    evidence: tuple[Measured, ...]
    """The latest first."""
    flags: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def doubts(self) -> tuple[str, ...]:
        """What should make a curator doubt: errors, then flags, then warnings."""
        errors = [str(finding) for finding in self.findings if finding.severity == "error"]
        warnings = [str(finding) for finding in self.findings if finding.severity != "error"]
        return (*errors, *self.flags, *warnings)


class Difference(Frozen):
    """What differs between two skills, as lines of a unified diff."""

    text: tuple[str, ...]
    code: tuple[str, ...]


class Decision(Frozen):
    """What a decision changes."""

    name: str
    verb: Decided
    before: SkillStanding
    after: SkillStanding
    note: str = ""


def review(kb: KnowledgeBase, skill: Skill) -> Review:
    """What speaks for a skill and against it."""
    evidence = measured(kb, skill)
    return Review(
        skill=skill.model_copy(update={"evidence": ()}),
        standing=kb.skills.standing(skill),
        evidence=evidence,
        flags=tuple(_flags(kb, skill, evidence)),
        findings=tuple(lint(skill.folder)) if skill.folder else (),
    )


def compare(kb: KnowledgeBase, first: str, second: str) -> Difference:
    """The differences of text and code between two skills or proposals. Errors as in `Skillbook.find`."""
    a, b = kb.skills.find(first), kb.skills.find(second)

    def differing(lines: Callable[[Skill], list[str]]) -> tuple[str, ...]:
        return tuple(difflib.unified_diff(lines(a), lines(b), a.name, b.name, lineterm="", n=1))

    return Difference(
        text=differing(lambda skill: [skill.description, *skill.body.splitlines()]),
        code=differing(lambda skill: skill.candidate.source.splitlines() if skill.candidate else []),
    )


def measured(kb: KnowledgeBase, skill: Skill) -> tuple[Measured, ...]:
    """The evidence of a skill, the latest first."""
    here, own = kb.skills.measured_here(), skill.own_evidence
    return tuple(
        Measured(evidence=e, here=e.id in here, own=e in own or not skill.candidate) for e in reversed(skill.evidence)
    )


def decide(
    kb: KnowledgeBase, verb: Decided, name: str, *, by: str = "", reason: str = "", anyway: bool = False
) -> Decision:
    """Accept or reject a proposal, or retire a skill. To accept what was rejected or retired takes that back.

    Args:
        by: Who decides (default: the user of this account).
        anyway: Accept it although `lint` finds errors.

    Raises:
        SkillError: there is no such skill, or the decision does not fit it.
    """
    if verb != "accept" and not reason.strip():
        raise SkillError(f"{verb} needs a reason", hint='write --reason "slower since the last driver"')
    skill = kb.skills.find(name)
    if verb == "accept" and not anyway:
        _must_be_sound(skill)
    record = record_of(skill, verb, by=" ".join(by.split()) or getpass.getuser(), reason=" ".join(reason.split()))
    before = kb.skills.standing(skill)
    after = kb.skills.standing(kb.skills.publish(skill.model_copy(update={"records": (*skill.records, record)})))
    used = after in (SkillStanding.VERIFIED, SkillStanding.STALE)
    note = "" if used or verb != "accept" else f"its kernel has not won here: judge it with {command_for(skill)}"
    return Decision(name=name, verb=verb, before=before, after=after, note=note)


def _must_be_sound(skill: Skill) -> None:
    """Raises SkillError if `lint` finds errors."""
    errors = [f for f in lint(skill.folder) if f.severity == "error"] if skill.folder else []
    if errors:
        raise SkillError(
            f"{skill.name} has {len(errors)} errors, the first: {errors[0].place}: {errors[0].message}",
            hint=f"read them with `kb skills lint {skill.name}`; --anyway accepts it with them",
        )


def _flags(kb: KnowledgeBase, skill: Skill, evidence: Iterable[Measured]) -> Iterator[str]:
    """What a curator should look at before accepting."""
    if not skill.evidence:
        yield "it has no evidence"
    elif not any(one.here for one in evidence):
        yield "all of its evidence is claimed: nobody measured it here"
    if skill.folder and not skill.last_decision and len([*skill.folder.glob("records/*.json")]) > len(skill.records):
        yield f"it was changed after it was decided on: `kb skills accept {skill.name}` accepts it as it is now"
    if not skill.is_prose and skill.evidence and not skill.own_evidence:
        yield "none of its evidence is about its present code"
    gone = (id_ for id_ in skill.citations if not kb.documents.stands(id_))
    yield from (f"what it cites as {id_} does not stand any more" for id_ in gone)

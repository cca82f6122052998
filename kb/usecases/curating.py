"""A curator's work on skills: reviews of proposals, differences between skills, decisions. Decisions are for people."""

import difflib
import getpass
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from kb.errors import CitationError, SkillError
from kb.skillbook.library import utc_now
from kb.skillbook.lint import Finding, lint
from kb.types.base import Frozen, short
from kb.types.evidence import Evidence
from kb.types.skill import Skill, SkillStanding
from kb.types.skill_record import SkillRecord

if TYPE_CHECKING:
    from kb.usecases.knowledge_base import KnowledgeBase

Verb = Literal["accept", "reject", "retire"]

CITED_CHARACTERS = 150


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
    waits: bool
    """Whether it is a proposal on which nobody has decided."""
    standing: SkillStanding
    evidence: tuple[Measured, ...]
    """The latest first."""
    flags: tuple[str, ...]
    findings: tuple[Finding, ...]
    cited: tuple[str, ...]
    """Place, text and id of each cited passage that still stands."""


class Difference(Frozen):
    """Two skills side by side."""

    text: tuple[str, ...]
    code: tuple[str, ...]
    evidence: dict[str, tuple[Measured, ...]]
    """The evidence of both by `task on target`."""


class Decision(Frozen):
    """What a decision changes."""

    name: str
    verb: Verb
    before: SkillStanding
    after: SkillStanding
    recorded: bool
    """False if it was only tried."""
    note: str = ""


def review(kb: "KnowledgeBase", skill: Skill) -> Review:
    """What speaks for a skill and against it."""
    proposal, evidence = kb.skills.waiting(skill.name), measured(kb, skill)
    cited = {id_: _cited(kb, id_) for id_ in skill.citations}
    return Review(
        skill=skill.model_copy(update={"evidence": ()}),
        waits=proposal is not None and proposal.content_digest == skill.content_digest,
        standing=kb.skills.standing(skill),
        evidence=evidence,
        flags=(
            *([f"another skill is called {skill.name}, so this can only be rejected"] if _namesake(kb, skill) else ()),
            *_flags(skill, evidence),
            *(f"what it cites as {id_} does not stand any more" for id_, text in cited.items() if not text),
        ),
        findings=tuple(lint(skill.folder)) if skill.folder else (),
        cited=tuple(filter(None, cited.values())),
    )


def compare(kb: "KnowledgeBase", first: str, second: str) -> Difference:
    """The differences of text, code and evidence between two skills or proposals. Errors as in `Skillbook.find`."""
    a, b = kb.skills.find(first), kb.skills.find(second)
    tasks: dict[str, list[Measured]] = {}
    for skill in (a, b):
        for one in measured(kb, skill):
            tasks.setdefault(f"{one.evidence.task} on {one.evidence.target}", []).append(one)
    return Difference(
        text=_unified(a.name, _text(a), b.name, _text(b)),
        code=_unified(a.name, _code(a), b.name, _code(b)),
        evidence={task: tuple(both) for task, both in sorted(tasks.items())},
    )


def measured(kb: "KnowledgeBase", skill: Skill) -> tuple[Measured, ...]:
    """The evidence of a skill, the latest first."""
    here, own = kb.skills.measured_here(), skill.own_evidence
    return tuple(
        Measured(evidence=e, here=e.id in here, own=e in own or not skill.candidate) for e in reversed(skill.evidence)
    )


def decide(
    kb: "KnowledgeBase",
    verb: Verb,
    name: str,
    *,
    by: str = "",
    reason: str = "",
    anyway: bool = False,
    dry_run: bool = False,
) -> Decision:
    """Accept or reject a proposal, or retire a skill. To accept what was rejected or retired takes that back.

    Args:
        by: Who decides (default: the user of this account).
        anyway: Accept it although `lint` finds errors.
        dry_run: Only tell what would change.

    Raises:
        SkillError: there is no such skill, or the decision does not fit it.
    """
    if verb != "accept" and not reason.strip():
        raise SkillError(f"{verb} needs a reason", hint='write --reason "slower since the last driver"')
    skill = kb.skills.waiting(name) or kb.skills.find(name)
    if verb == "accept":
        _must_be_acceptable(kb, skill, anyway=anyway)
    record = SkillRecord(
        verb=verb,
        skill=name,
        content_digest=skill.content_digest,
        created=utc_now(),
        by=" ".join(by.split()) or getpass.getuser(),
        reason=" ".join(reason.split()),
    )
    before = kb.skills.standing(skill)
    after = kb.skills.standing(skill.model_copy(update={"records": (*skill.records, record)}))
    if not dry_run:
        kb.skills.record(skill, record)
    used = after in (SkillStanding.VERIFIED, SkillStanding.STALE)
    note = "" if used or verb != "accept" else "its kernel has not won here: `kb skills reverify` judges it"
    return Decision(name=name, verb=verb, before=before, after=after, recorded=not dry_run, note=note)


def _must_be_acceptable(kb: "KnowledgeBase", skill: Skill, *, anyway: bool) -> None:
    """Raises SkillError if another skill has its name, or `lint` finds errors."""
    if _namesake(kb, skill):
        raise SkillError(
            f"another skill is called {skill.name}", hint="reject this proposal, and import it under another name"
        )
    errors = [f for f in lint(skill.folder) if f.severity == "error"] if skill.folder else []
    if errors and not anyway:
        raise SkillError(
            f"{skill.name} has {len(errors)} errors, the first: {errors[0].place}: {errors[0].message}",
            hint=f"read them with `kb skills lint {skill.name}`; --anyway accepts it with them",
        )


def _namesake(kb: "KnowledgeBase", skill: Skill) -> bool:
    """Whether another skill has its name, as git may bring it."""
    return any(s.name == skill.name and s.content_digest != skill.content_digest for s in kb.skills.skills())


def _unified(old: str, old_lines: list[str], new: str, new_lines: list[str]) -> tuple[str, ...]:
    return tuple(difflib.unified_diff(old_lines, new_lines, old, new, lineterm="", n=1))


def _text(skill: Skill) -> list[str]:
    return [skill.description, *skill.body.splitlines()]


def _code(skill: Skill) -> list[str]:
    return skill.candidate.source.splitlines() if skill.candidate else []


def _cited(kb: "KnowledgeBase", id_: str) -> str:
    """A passage with its place; empty if it does not stand any more."""
    try:
        place = kb.cite(id_)
    except CitationError:
        return ""
    text = " ".join(text.strip() for _, text, cited in place.lines if cited)
    return f"{place.citation.place}: {short(text, CITED_CHARACTERS)} [kb cite {id_}]"


def _flags(skill: Skill, evidence: Iterable[Measured]) -> Iterator[str]:
    """What a curator should look at before accepting."""
    if not skill.evidence:
        yield "it has no evidence"
    elif not any(one.here for one in evidence):
        yield "all of its evidence is claimed: nobody measured it here"
    if not skill.is_prose and skill.evidence and not skill.own_evidence:
        yield "none of its evidence is about its present code"

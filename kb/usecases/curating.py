"""A curator's work on skills: reviews of proposals, differences between skills, decisions. Decisions are for people."""

import difflib
import getpass
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from kb.errors import CitationError, SkillError
from kb.skillbook.library import utc_now
from kb.skillbook.lint import Finding, lint
from kb.skillbook.standing import last_decision
from kb.types.base import Frozen
from kb.types.evidence import Evidence
from kb.types.skill import Skill, SkillKind, SkillStanding
from kb.types.skill_record import SkillRecord

if TYPE_CHECKING:
    from kb.usecases.knowledge_base import KnowledgeBase

Verb = Literal["accept", "reject", "retire", "restore"]

NOT_ACTIVE = "it is not active, because nothing that counts here proves it"
NEAREST_SHOWN = 3
ALIKE, NEAR_TWIN = 0.3, 0.9
"""Shares of words in common from which on a difference is worth reading, and two skills may be one."""
_HELD = (SkillStanding.RETIRED, SkillStanding.SUPERSEDED)
"""Standings of what is kept and not used."""


class Measured(Frozen):
    """One piece of evidence, as a curator weighs it."""

    evidence: Evidence
    by: str
    """Who measured it: `here`, or the name of a signer whom this home trusts; empty if it is only claimed."""
    own: bool
    """Whether it is evidence on the skill's present kernel."""
    worse: bool
    """Whether it is about the kernel that the skill's is better than."""

    @property
    def trust(self) -> str:
        return {"here": "measured here", "": "claimed"}.get(self.by, f"signed by {self.by}")

    @property
    def interval(self) -> str:
        """The 95 % interval of the speed-up; empty if it was not timed, or other work disturbed the times."""
        timing = self.evidence.timing
        return f"{timing.low:.2f} to {timing.high:.2f}" if timing and not timing.busy else ""


class Near(Frozen):
    """A skill like the one under review."""

    name: str
    standing: SkillStanding
    value: float
    likeness: float
    """Share of words that both have in common, from 0 to 1."""


class Cited(Frozen):
    id: str
    place: str
    text: str
    """The passage; the reason if it does not stand any more."""
    stands: bool


class Review(Frozen):
    """All that a curator needs to decide on one skill."""

    skill: Skill
    """Without its evidence."""
    waits: bool
    """Whether it is a proposal on which nobody has decided."""
    standing: SkillStanding
    evidence: tuple[Measured, ...]
    """The latest first."""
    nearest: tuple[Near, ...]
    compared: str
    """Name of the skill that the difference is to; empty if none is like it, or it has a worse kernel itself."""
    difference: tuple[str, ...]
    """From that skill's code to this one's, or of the texts if one has no code; or from its worse kernel to its own."""
    flags: tuple[str, ...]
    findings: tuple[Finding, ...]
    cited: tuple[Cited, ...]


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


def waiting(kb: "KnowledgeBase") -> list[Skill]:
    """The proposals on which nobody has decided, those with the strongest evidence first."""

    def rank(skill: Skill) -> tuple[float, str]:
        timings = [m.evidence.timing for m in measured(kb, skill) if m.by and m.own]
        return -max((t.low for t in timings if t and not t.busy), default=0.0), skill.name

    return sorted(kb.skills.proposals(), key=rank)


def review(kb: "KnowledgeBase", skill: Skill, proposals: Sequence[Skill] = ()) -> Review:
    """What speaks for a skill and against it.

    Args:
        proposals: Those that wait, among which it may have a twin.
    """
    near, proposal = _nearest(kb, skill), kb.skills.waiting(skill.name)
    same_name = [s for s in kb.skills.skills() if s.name == skill.name and s.content_digest != skill.content_digest]
    like = kb.skills.get(near[0].name) if near and near[0].likeness >= ALIKE and not skill.worse else None
    old = like or skill.model_copy(update={"candidate": skill.worse})
    evidence = measured(kb, skill)
    cited = tuple(_cited(kb, id_) for id_ in skill.citations)
    return Review(
        skill=skill.model_copy(update={"evidence": ()}),
        waits=proposal is not None and proposal.content_digest == skill.content_digest,
        standing=kb.skills.standing(skill),
        evidence=evidence,
        nearest=near,
        compared=like.name if like else "",
        difference=_difference(old, skill) if like or skill.worse else (),
        flags=(
            *(f"another skill is called {s.name}, so this can only be rejected" for s in same_name),
            *_flags(skill, evidence, near, cited),
            *_same_template(skill, (*kb.skills.skills(), *proposals)),
        ),
        findings=tuple(lint(skill.folder)) if skill.folder else (),
        cited=cited,
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
    who, own, worse = kb.skills.measurer(), skill.own_evidence, skill.worse.digest if skill.worse else ""
    return tuple(
        Measured(evidence=e, by=who(skill, e), own=e in own, worse=e.candidate_digest == worse)
        for e in reversed(skill.evidence)
    )


def decide(
    kb: "KnowledgeBase",
    verb: Verb,
    name: str,
    *,
    by: str = "",
    reason: str = "",
    successor: str = "",
    anyway: bool = False,
    dry_run: bool = False,
) -> Decision:
    """Accept or reject a proposal, retire a skill, or take that back.

    Args:
        by: Who decides (default: the user of this account).
        successor: Name of the skill that takes the place of a retired one.
        anyway: Accept it although `lint` finds errors.
        dry_run: Only tell what would change.

    Raises:
        SkillError: there is no such skill or successor, or the decision does not fit it.
    """
    if verb in ("reject", "retire") and not reason.strip():
        raise SkillError(f"{verb} needs a reason", hint='write --reason "slower since the last driver"')
    proposal = kb.skills.waiting(name) if verb in ("accept", "reject") else None
    skill = proposal or kb.skills.find(name)
    _must_fit(kb, verb, skill, successor, anyway=anyway)
    record = SkillRecord(
        verb=verb,
        skill=name,
        content_digest=skill.content_digest,
        created=utc_now(),
        by=" ".join(by.split()) or getpass.getuser(),
        reason=" ".join(reason.split()),
        successor=successor,
    )
    before = kb.skills.standing(skill)
    after = kb.skills.standing(skill.model_copy(update={"records": (*skill.records, record)}))
    if not dry_run and verb == "accept":
        kb.skills.accept(name, record.by, record.reason)
    elif not dry_run:
        kb.skills.record(skill, record)
    note = NOT_ACTIVE if verb == "accept" and after is not SkillStanding.ACTIVE else ""
    if note and skill.candidate:
        note += ": `kb skills reverify` judges its kernel"
    return Decision(name=name, verb=verb, before=before, after=after, recorded=not dry_run, note=note)


def _must_fit(kb: "KnowledgeBase", verb: Verb, skill: Skill, successor: str, *, anyway: bool) -> None:
    """Raises SkillError if a decision makes no sense for a skill."""
    name, last = skill.name, last_decision(skill)
    taken_back = last is not None and last.verb in ("reject", "retire")
    namesake = next((known for known in kb.skills.skills() if known.name == name), None)
    published = namesake is not None and namesake.content_digest == skill.content_digest
    errors = [f for f in lint(skill.folder) if f.severity == "error"] if skill.folder and verb == "accept" else []
    if verb == "accept" and namesake and not published:
        raise SkillError(
            f"another skill is called {name}", hint="reject this proposal, and import it under another name"
        )
    if verb == "accept" and taken_back:
        raise SkillError(f"{name} was retired or rejected", hint=f"`kb skills restore {name}` comes first")
    if errors and not anyway:
        raise SkillError(
            f"{name} has {len(errors)} errors, the first: {errors[0].place}: {errors[0].message}",
            hint=f"read them with `kb skills lint {name}`; --anyway accepts it with them",
        )
    if verb == "accept":
        kb.skills.must_have_room(skill)
    if verb == "reject" and published:
        raise SkillError(f"{name} is a skill, not a proposal", hint="`kb skills retire` takes a skill out of use")
    if verb == "retire" and not published:
        raise SkillError(f"{name} is a proposal", hint="`kb skills reject` keeps a proposal out of use")
    if successor and kb.skills.get(successor).name == name:
        raise SkillError(f"{name} cannot take its own place", hint="name another skill as --successor")
    if verb == "restore" and not taken_back:
        raise SkillError(f"{name} is neither retired nor rejected", hint="`kb skills list --all` shows which are")


def _nearest(kb: "KnowledgeBase", skill: Skill) -> tuple[Near, ...]:
    """The active skills of its kind that are most like this one; if none is active, those that are in use.

    If there is none of its kind, the others that are in use.
    """
    standings = kb.skills.standings()
    in_use = [s for s in kb.skills.skills() if s.name != skill.name and standings[s.name] not in _HELD]
    alike = [s for s in in_use if s.kind is skill.kind]
    used = [s for s in alike if standings[s.name] is SkillStanding.ACTIVE] or alike or in_use
    near = [
        Near(name=s.name, standing=standings[s.name], value=kb.skills.value(s), likeness=_likeness(skill, s))
        for s in used
    ]
    return tuple(sorted(near, key=lambda n: (-n.likeness, n.name))[:NEAREST_SHOWN])


def _likeness(first: Skill, second: Skill) -> float:
    """Weighted Jaccard index of their words, from 0 to 1; the code counts for kernels, others only show it."""
    texts = ([*_text(s), *(_code(s) if s.kind is SkillKind.KERNEL else ())] for s in (first, second))
    a, b = (Counter(re.findall(r"\w+", "\n".join(text).lower())) for text in texts)
    return (a & b).total() / max(1, (a | b).total())


def _difference(old: Skill, new: Skill) -> tuple[str, ...]:
    part = _code if old.candidate and new.candidate else _text
    return _unified(old.name, part(old), new.name, part(new))


def _unified(old: str, old_lines: Sequence[str], new: str, new_lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(difflib.unified_diff(old_lines, new_lines, old, new, lineterm="", n=1))


def _text(skill: Skill) -> list[str]:
    return [skill.description, *skill.body.splitlines()]


def _code(skill: Skill) -> list[str]:
    return skill.candidate.source.splitlines() if skill.candidate else []


def _cited(kb: "KnowledgeBase", id_: str) -> Cited:
    try:
        place = kb.cite(id_)
    except CitationError as error:
        return Cited(id=id_, place="", text=error.message, stands=False)
    text = " ".join(text.strip() for _, text, cited in place.lines if cited)
    return Cited(id=id_, place=place.citation.place, text=text, stands=True)


def _same_template(skill: Skill, others: Iterable[Skill]) -> Iterator[str]:
    """Those of the same kind whose code differs only in the values of parameters."""
    for other in others:
        kernels = skill.candidate, other.candidate
        same = kernels[0] and kernels[1] and kernels[0].template_digest == kernels[1].template_digest
        if same and other.kind is skill.kind and other.name != skill.name:
            yield f"it is {other.name} with other values of its parameters"


def _flags(skill: Skill, evidence: Sequence[Measured], near: Sequence[Near], cited: Sequence[Cited]) -> Iterator[str]:
    """What a curator should look at before accepting."""
    if not evidence:
        yield "it has no evidence"
    elif not any(one.by for one in evidence):
        yield "all of its evidence is claimed: nobody measured it here or signed it"
    if skill.candidate and evidence and not any(one.own for one in evidence):
        yield "none of its evidence is about its present code"
    judged = {(e.candidate_digest, e.task_digest, e.target, e.passed) for e in skill.evidence}
    if any((*what, False) in judged for *what, passed in judged if passed):
        yield "its evidence contradicts itself: the same code passed and was refused on the same task"
    if skill.kind is SkillKind.PITFALL and {one.evidence.passed for one in evidence} != {True, False}:
        yield "a pitfall needs evidence of a failure and of what mended it"
    best = max((e.speedup or 0.0 for e in skill.own_evidence), default=0.0)
    if skill.kind is SkillKind.TECHNIQUE and 0 < best <= 1:
        yield f"with it the kernel is still slower than the best baseline: {best:.2f}"
    for twin in near:
        if twin.likeness >= NEAR_TWIN:
            yield f"{twin.likeness:.0%} of its words are those of {twin.name}: is it the same?"
    for one in cited:
        if not one.stands:
            yield f"what it cites as {one.id} does not stand any more: {one.text}"

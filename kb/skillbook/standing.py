"""How well a skill is proven: a pure function of its evidence and records, and of what is so here and now."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import takewhile

from kb.types.evidence import Evidence
from kb.types.skill import Skill, SkillKind, SkillStanding
from kb.types.skill_record import SkillRecord

STALE_DAYS = 180
"""A win that was not repeated for so long is no longer counted on."""

MOST_ACTIVE = 3
"""Most active skills of one kind for an operation on a target. More of them make the right one harder to choose."""

Place = tuple[str, ...]
"""Task, target and environment of evidence; measurements are compared only within one place."""


@dataclass(frozen=True)
class StandingContext:
    """What standings depend on beside the library."""

    measured: Callable[[Skill, Evidence], bool]
    """Whether evidence was measured here, or by someone who is trusted here."""
    versions: Callable[[], Mapping[str, str]]
    """Gives the versions of the software here, under the names in the environment of evidence."""
    stands: Callable[[str], bool]
    """Whether a cited passage is still in the documents."""
    today: date


@dataclass(frozen=True)
class Proven:
    """A skill with what proves it."""

    skill: Skill
    proofs: Mapping[Place, Evidence]

    def beats(self, other: "Proven") -> bool:
        """Whether it takes the place of the other: it is faster in every place in which the other is proven."""
        if (self.skill.kind, self.skill.language) != (other.skill.kind, other.skill.language):
            return False
        own, theirs = self.proofs, other.proofs
        return bool(theirs) and all(place in own and is_faster(own[place], e) for place, e in theirs.items())

    def rivals(self, active: Iterable["Proven"]) -> list["Proven"]:
        """Those of its kind for an operation of its own on its target, except those that it beats.

        A skill without operations is for all of them.
        """
        own, ops = self.skill, set(self.ops)
        return [
            one
            for one in active
            if (one.skill.kind, one.skill.target) == (own.kind, own.target)
            and (not ops or not one.ops or ops & set(one.ops))
            and not self.beats(one)
        ]

    def has_room(self, active: Iterable["Proven"]) -> bool:
        """Whether it may be active beside others: fewer than MOST_ACTIVE of its rivals are for any one operation."""
        rivals = self.rivals(active)
        ops = self.ops or ("", *(op for one in rivals for op in one.ops))
        return all(sum(not one.ops or op in one.ops for one in rivals) < MOST_ACTIVE for op in ops)

    @property
    def ops(self) -> tuple[str, ...]:
        return self.skill.preconditions.ops


@dataclass(frozen=True)
class Standings:
    """What the skills of a library are, by name."""

    of: dict[str, SkillStanding]
    resting: dict[str, tuple[str, ...]]
    """Skills that are proven and accepted but not active, as enough others were accepted before: the names of these."""
    active: tuple[Proven, ...]
    """In the order in which they were accepted."""


def standings_of(skills: Iterable[Skill], context: StandingContext) -> Standings:
    """The standings of a library, which depend on nothing but its skills and the context.

    Two libraries that git merged may have accepted more than MOST_ACTIVE; what was accepted first then stays active.
    """
    known = {skill.name: skill for skill in skills}
    counted = {name: _counted(skill, context) for name, skill in known.items()}
    proven = {name: _proven(skill, counted[name]) for name, skill in known.items()}
    alone = {name: _alone(skill, counted[name], proven[name].proofs, context) for name, skill in known.items()}
    accepted = [proven[name] for name, standing in alone.items() if standing is SkillStanding.ACTIVE]
    active, resting = _seated(accepted)
    names = {one.skill.name for one in active}

    def standing(skill: Skill) -> SkillStanding:
        own, last = alone[skill.name], last_decision(skill)
        if own is SkillStanding.RETIRED:
            return SkillStanding.SUPERSEDED if last and last.successor in names else own
        if any(one.beats(proven[skill.name]) for one in active):
            return SkillStanding.SUPERSEDED
        return SkillStanding.VERIFIED if skill.name in resting else own

    of = {name: standing(skill) for name, skill in known.items()}
    resting = {name: behind for name, behind in resting.items() if of[name] is SkillStanding.VERIFIED}
    return Standings(of, resting, tuple(active))


def _seated(accepted: Sequence[Proven]) -> tuple[list[Proven], dict[str, tuple[str, ...]]]:
    """The active ones of those that were accepted, and the others except beaten ones.

    What was accepted first comes first, ties by name; but a skill comes before those that it beats.
    """
    times = {one.skill.name: _accepted_at(one.skill) for one in accepted}
    beaten = {one.skill.name: [other.skill.name for other in accepted if one.beats(other)] for one in accepted}

    def turn(one: Proven) -> tuple[str, int, str]:
        name = one.skill.name
        return min(times[each] for each in (name, *beaten[name])), -len(beaten[name]), name

    active: list[Proven] = []
    resting = {}
    for one in sorted(accepted, key=turn):
        if any(one.skill.name in beaten[other.skill.name] for other in active):
            continue
        if one.has_room(active):
            active.append(one)
        else:
            resting[one.skill.name] = tuple(rival.skill.name for rival in one.rivals(active))
    return active, resting


def _accepted_at(skill: Skill) -> str:
    """When it was accepted; if it was accepted several times in a row, the first of these times."""
    return list(takewhile(lambda record: record.verb == "accept", reversed(_decisions(skill))))[-1].created


def _alone(
    skill: Skill, counted: Sequence[Evidence], proofs: Mapping[Place, Evidence], context: StandingContext
) -> SkillStanding:
    """The standing as if there were no other skill."""
    last = last_decision(skill)
    if last and last.verb in ("retire", "reject"):
        return SkillStanding.RETIRED
    if proofs:
        fresh = any(not _outdated(proof, context) for proof in proofs.values())
        if not fresh or not all(map(context.stands, skill.citations)):
            return SkillStanding.STALE
        return SkillStanding.ACTIVE if last and last.verb == "accept" else SkillStanding.VERIFIED
    passed = any(e.passed and skill.is_about(e) for e in counted)
    return SkillStanding.SCREENED if passed else SkillStanding.HYPOTHESIS


def last_decision(skill: Skill) -> SkillRecord | None:
    """The last decision about the skill's present content; None if there is none."""
    return next(iter(_decisions(skill)[-1:]), None)


def _decisions(skill: Skill) -> list[SkillRecord]:
    """Those about its present content, in order of time."""
    decisions = [r for r in skill.records if r.verb != "use"]
    content = skill.content_digest if decisions else ""
    return sorted((r for r in decisions if r.content_digest == content), key=lambda r: (r.created, r.id))


def proven(skill: Skill, context: StandingContext) -> Proven:
    """The skill with the evidence on its kernel that proves what it says.

    A kernel is proven by a win; a technique by being faster than its worse kernel; a pitfall by passing where its worse
    kernel was refused. Nothing proves a playbook, or a technique or a pitfall that does not hold both kernels: evidence
    can be copied, and does not say which text it is about.
    """
    return _proven(skill, _counted(skill, context))


def _proven(skill: Skill, counted: Sequence[Evidence]) -> Proven:
    return Proven(skill, {place_of(e): e for e in counted if skill.is_about(e) and _proves(skill, e, counted)})


def _counted(skill: Skill, context: StandingContext) -> list[Evidence]:
    """Of what was measured here, the newest for each place and kernel; a pass without a time hides no earlier time."""
    newest: dict[tuple[Place, str], Evidence] = {}
    for evidence in sorted(skill.evidence, key=lambda e: e.created):
        key = (place_of(evidence), evidence.candidate_digest)
        conclusive = evidence.speedup is not None or not evidence.passed
        if (conclusive or key not in newest) and context.measured(skill, evidence):
            newest[key] = evidence
    return list(newest.values())


def _proves(skill: Skill, evidence: Evidence, counted: Iterable[Evidence]) -> bool:
    """Whether evidence on its kernel proves what a skill says."""
    worse, place = skill.worse.digest if skill.worse else None, place_of(evidence)
    others = [e for e in counted if e.candidate_digest == worse and place_of(e) == place]
    match skill.kind:
        case SkillKind.KERNEL:
            return evidence.won
        case SkillKind.TECHNIQUE:
            return any(is_faster(evidence, other) for other in others)
        case SkillKind.PITFALL:
            return evidence.passed and any(not other.passed for other in others)
        case SkillKind.PLAYBOOK:
            return False


def is_faster(evidence: Evidence, other: Evidence) -> bool:
    """Whether the intervals of their speed-ups say so; both are of one task."""
    if evidence.speedup is None or other.speedup is None or not (evidence.timing and other.timing):
        return False
    return evidence.timing.baseline == other.timing.baseline and evidence.timing.low > other.timing.high


def place_of(evidence: Evidence) -> Place:
    environment = sorted(evidence.environment.items())
    versions = (f"{name} {text if name == 'machine' else major(text)}" for name, text in environment)
    return evidence.task_digest, evidence.target, *versions


def _outdated(proof: Evidence, context: StandingContext) -> bool:
    """Whether it is from long ago, or from software of other major versions."""
    pairs = ((v, proof.environment[name]) for name, v in context.versions().items() if name in proof.environment)
    return any(major(now) != major(then) for now, then in pairs) or _age(proof, context.today) > STALE_DAYS


def _age(proof: Evidence, today: date) -> int:
    """In days."""
    try:
        return (today - date.fromisoformat(proof.created[:10])).days
    except ValueError:
        return STALE_DAYS + 1


def major(version: str) -> str:
    """`3` for `3.2.0`, `0.4` for `0.4.1`; a text without a version is its own major."""
    found = re.search(r"(?<![\w.])(?:0\.\d+|[1-9]\d*)", version)
    return found[0] if found else version

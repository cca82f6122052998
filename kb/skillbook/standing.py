"""How well a skill is proven: a pure function of its evidence and records, and of what is so here and now."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from kb.model.evidence import Evidence
from kb.model.skill import Skill, SkillKind, SkillStanding
from kb.model.skill_record import SkillRecord

STALE_DAYS = 180
"""A win that was not repeated for so long is no longer counted on."""

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


def standings_of(skills: Iterable[Skill], context: StandingContext) -> dict[str, SkillStanding]:
    """The standing of each skill of a library, by name."""
    known = {skill.name: skill for skill in skills}
    counted = {name: _counted(skill, context) for name, skill in known.items()}
    proofs = {name: _proofs(skill, counted[name]) for name, skill in known.items()}
    alone = {name: _alone(skill, counted[name], proofs[name], context) for name, skill in known.items()}
    active = [name for name, standing in alone.items() if standing is SkillStanding.ACTIVE]

    def standing(skill: Skill) -> SkillStanding:
        own, last = alone[skill.name], last_decision(skill)
        if own is SkillStanding.RETIRED:
            return SkillStanding.SUPERSEDED if last and last.successor in active else own
        rivals = (name for name in active if known[name].kind is skill.kind and known[name].language == skill.language)
        beaten = any(dominates(proofs[rival], proofs[skill.name]) for rival in rivals)
        return SkillStanding.SUPERSEDED if beaten else own

    return {name: standing(skill) for name, skill in known.items()}


def _alone(
    skill: Skill, counted: Sequence[Evidence], proofs: Sequence[Evidence], context: StandingContext
) -> SkillStanding:
    """The standing as if there were no other skill."""
    last = last_decision(skill)
    if last and last.verb in ("retire", "reject"):
        return SkillStanding.RETIRED
    if proofs:
        fresh = any(not _outdated(proof, context) for proof in proofs)
        if not fresh or not all(map(context.stands, skill.citations)):
            return SkillStanding.STALE
        return SkillStanding.ACTIVE if last and last.verb == "accept" else SkillStanding.VERIFIED
    passed = any(e.passed and skill.is_about(e) for e in counted)
    return SkillStanding.SCREENED if passed else SkillStanding.HYPOTHESIS


def last_decision(skill: Skill) -> SkillRecord | None:
    """The last decision about the skill's present content; None if there is none."""
    content = skill.content_digest
    decisions = [r for r in skill.records if r.verb != "use" and r.content_digest == content]
    return max(decisions, key=lambda r: (r.created, r.id), default=None)


def proofs_of(skill: Skill, context: StandingContext) -> list[Evidence]:
    """The evidence that proves what the skill says, at most one piece for each place and kernel.

    A kernel or a playbook is proven by a win, a technique by a kernel that is faster with it than without, a pitfall by
    a kernel that passes where another was refused.
    """
    return _proofs(skill, _counted(skill, context))


def _proofs(skill: Skill, counted: Sequence[Evidence]) -> list[Evidence]:
    return [e for e in counted if skill.is_about(e) and _proves(skill.kind, e, counted)]


def _counted(skill: Skill, context: StandingContext) -> list[Evidence]:
    """Of what was measured here, the newest for each place and kernel; a pass without a time hides no earlier time."""
    newest: dict[tuple[Place, str], Evidence] = {}
    for evidence in sorted(skill.evidence, key=lambda e: e.created):
        key = (place_of(evidence), evidence.candidate_digest)
        conclusive = evidence.speedup is not None or not evidence.passed
        if (conclusive or key not in newest) and context.measured(skill, evidence):
            newest[key] = evidence
    return list(newest.values())


def _proves(kind: SkillKind, evidence: Evidence, counted: Iterable[Evidence]) -> bool:
    if kind not in (SkillKind.TECHNIQUE, SkillKind.PITFALL):
        return evidence.won
    place, kernel = place_of(evidence), evidence.candidate_digest
    others = [e for e in counted if e.candidate_digest != kernel and place_of(e) == place]
    if kind is SkillKind.TECHNIQUE:
        return any(is_faster(evidence, other) for other in others)
    return evidence.passed and any(not other.passed for other in others)


def is_faster(evidence: Evidence, other: Evidence) -> bool:
    """Whether the intervals of their speed-ups say so; both are of one task."""
    if evidence.speedup is None or other.speedup is None or not (evidence.timing and other.timing):
        return False
    return evidence.timing.baseline == other.timing.baseline and evidence.timing.low > other.timing.high


def dominates(proofs: Iterable[Evidence], others: Iterable[Evidence]) -> bool:
    """Whether a skill with these proofs is faster in every place in which the other skill is proven."""
    own, theirs = ({place_of(e): e for e in one} for one in (proofs, others))
    return bool(theirs) and all(place in own and is_faster(own[place], e) for place, e in theirs.items())


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

"""How far a skill can be trusted: a pure function of its evidence and records, and of what is so here and now."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date

from kb.types.evidence import Evidence
from kb.types.skill import Skill, SkillStanding

STALE_DAYS = 180
"""A win that was not repeated for so long is no longer counted on."""

TRIALS = 3
"""Other tasks on which a rule is tried before it counts as verified."""

Place = tuple[str, ...]
"""Task, target and environment of evidence; measurements are compared only within one place."""


@dataclass(frozen=True)
class StandingContext:
    """What standings depend on beside the skill."""

    versions: Callable[[], Mapping[str, str]]
    """Gives the versions of the software here, under the names in the environment of evidence."""
    stands: Callable[[str], bool]
    """Whether a cited passage is still in the documents."""
    today: date


def standing_of(skill: Skill, context: StandingContext) -> SkillStanding:
    """The standing of a skill: a kernel's by its evidence, a rule's by its trials, that of other prose by a decision.

    Args:
        skill: Only with the evidence that was measured here.
    """
    if skill.is_retired:
        return SkillStanding.RETIRED
    cited = all(map(context.stands, skill.citations))
    if skill.is_rule:
        return _standing_of_rule(skill, context)
    if skill.is_prose:
        if skill.last_decision is None or skill.last_decision.verb != "accept":
            return SkillStanding.HYPOTHESIS
        return SkillStanding.VERIFIED if cited else SkillStanding.STALE
    counted = _counted(skill)
    if wins := [evidence for evidence in counted if evidence.won]:
        fresh = cited and not all(_outdated(win, context) for win in wins)
        return SkillStanding.VERIFIED if fresh else SkillStanding.STALE
    return SkillStanding.SCREENED if any(evidence.passed for evidence in counted) else SkillStanding.HYPOTHESIS


def _standing_of_rule(skill: Skill, context: StandingContext) -> SkillStanding:
    """A rule that was learnt here is on trial until it was tried on other tasks; then it must have helped in most."""
    known = (*skill.own_evidence, *skill.trials)
    fresh = not known or not all(_outdated(evidence, context) for evidence in known)
    if skill.last_decision is None or skill.last_decision.verb != "accept":
        if skill.waits or not skill.own_evidence:
            return SkillStanding.HYPOTHESIS
        if len(skill.trials) < TRIALS:
            return SkillStanding.SCREENED if fresh else SkillStanding.HYPOTHESIS
        if 2 * skill.helped <= len(skill.trials):
            return SkillStanding.HYPOTHESIS
    return SkillStanding.VERIFIED if fresh else SkillStanding.STALE


def _counted(skill: Skill) -> list[Evidence]:
    """The newest evidence for each place; a pass without a time hides no earlier time."""
    newest: dict[Place, Evidence] = {}
    for evidence in sorted(skill.own_evidence, key=lambda e: e.created):
        conclusive = evidence.speedup is not None or not evidence.passed
        if conclusive or place_of(evidence) not in newest:
            newest[place_of(evidence)] = evidence
    return list(newest.values())


def place_of(evidence: Evidence) -> Place:
    environment = sorted(evidence.environment.items())
    versions = (f"{name} {text if name in ('machine', 'gpu') else major(text)}" for name, text in environment)
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

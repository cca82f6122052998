"""What runs learn from refusals: a rule is a pitfall of the library that says what mended a kernel that was refused.

Runs get rules by class, not by words: by the outcome to mend a kernel, by language and kind of operation to draft one.
"""

import difflib
import random
from collections.abc import Sequence

from kb.runs.journal import Plan, Rules
from kb.runs.skills import may_get
from kb.skillbook.files import one_line
from kb.skillbook.library import Skillbook
from kb.skillbook.lint import sound
from kb.skillbook.win import body_of, named
from kb.types.campaign import Skills
from kb.types.kernels import Task
from kb.types.protocols import Attempt, RecalledSkill, Stage
from kb.types.skill import Preconditions, Skill, SkillKind, SkillStanding
from synth.briefing.topics import operations_in
from synth.prompts.render import fenced

SHOWN = 3
"""Most rules in a prompt, of which at most one is on trial."""
LEARNT = 3
"""Most rules that a run learns."""
MOST_CHANGED = 24
"""A change of more lines is another kernel: the rule has its author's words alone."""
USED = (SkillStanding.VERIFIED, SkillStanding.STALE, SkillStanding.SCREENED)
"""Standings of rules that runs get, best first."""


def learnt(plan: Plan, attempts: Sequence[Attempt], *, suffix: str, licence: str) -> list[tuple[int, Skill]]:
    """The rules of a run, each with the number of a kernel that passed when its author was to mend a refused one."""
    found = []
    for number, mended in enumerate(attempts, start=1):
        failed = attempts[mended.parent - 1] if mended.stage is Stage.FIX and mended.parent else mended
        if mended.evidence.passed and not failed.evidence.passed:
            rule = _rule(plan, failed, mended, suffix, licence)
            found += [(number, rule)] if rule and sound(f"{rule.description}\n{rule.body}") else []
    return found[:LEARNT]


def _rule(plan: Plan, failed: Attempt, mended: Attempt, suffix: str, licence: str) -> Skill | None:
    """None if neither its author nor a short change says what mended it."""
    outcome, note, change = failed.evidence.outcome, one_line(mended.note, 300), _change(failed, mended)
    if not (note or change):
        return None
    refusal = one_line(failed.evidence.detail.partition(";")[0], 160)  # what follows tells of single elements
    kernels = f"{plan.language} kernels for {plan.target}"
    said = f"In the words of {mended.author or 'its author'}, unchecked:\n\n> {note or '(none)'}"
    sections = {
        "What failed": f"A kernel was refused as `{outcome}`: {refusal or 'no detail'}",
        "What mended it": f"{said}\n\n{fenced(change, 'diff') if change else 'Most of the kernel was changed.'}",
        "When to use": f"When {kernels} are refused so.",
    }
    return named(
        Skill(
            name=f"{outcome}-{plan.language}-{plan.target}",
            kind=SkillKind.PITFALL,
            description=f"Of {kernels}, {outcome.replace('_', ' ')}: {refusal}; mended by: {note or 'its change'}",
            body=body_of(f"{outcome.replace('_', ' ').capitalize()} on {plan.target}", sections),
            license=licence,
            target=plan.target,
            language=plan.language,
            preconditions=Preconditions(ops=_kinds(plan.task)),
            refusals=(outcome,),
            candidate=mended.candidate,
            suffix=suffix,
            evidence=(mended.evidence,),
        )
    )


def _change(failed: Attempt, mended: Attempt) -> str:
    """The lines that were taken out and put in; empty if there are many."""
    old, new = (one.candidate.source.splitlines() for one in (failed, mended))
    changed = [*difflib.unified_diff(old, new, n=0, lineterm="")][2:]  # below the names of two files
    lines = [line for line in changed if line[0] in "+-" and line[1:].strip()]
    return "\n".join(lines) if len(lines) <= MOST_CHANGED else ""


def tried(skillbook: Skillbook, attempts: Sequence[Attempt]) -> list[Skill]:
    """The rules that authors had, each with what became of their first kernel on a task that is new to it."""
    rules = {skill.name: skill for skill in skillbook.skills() if skill.is_rule}
    found: dict[str, Skill] = {}
    for attempt in attempts:
        shown = (rules[name] for name in attempt.skills_used if attempt.stage and name in rules)
        for rule in shown:
            if all(attempt.evidence.task_digest != known.task_digest for known in rule.evidence):
                found.setdefault(rule.name, rule.model_copy(update={"evidence": (*rule.evidence, attempt.evidence)}))
    return list(found.values())


def rules_for(
    skillbook: Skillbook, plan: Plan, attempts: Sequence[Attempt], stage: Stage, base: int, scope: frozenset[str]
) -> tuple[RecalledSkill, ...]:
    """The rules for a prompt, best first.

    Args:
        base: Number of the attempt that is to be changed; 0 if that is the last.
    """
    if plan.rules is Rules.NONE or plan.control or stage is Stage.IMPROVE:
        return ()
    rules = [skill for skill in skillbook.skills(scope=scope, language=plan.language) if skill.is_rule]
    rules = [rule for rule in rules if plan.skills is not Skills.OTHERS or may_get(plan, rule)]
    standings = skillbook.standings(rules)
    usable = [
        RecalledSkill(skill=rule, standing=standing)
        for rule in skillbook.measured(*rules)
        if (standing := standings[rule.name]) in USED
    ]
    refused = attempts[(base or len(attempts)) - 1].evidence.outcome if stage is Stage.FIX and attempts else None
    kinds = set(_kinds(plan.task))
    fitting = [one for one in usable if _fits(one.skill, refused, kinds)]
    ranked = sorted(fitting, key=lambda one: _rank(one, kinds))
    trials = [one for one in ranked if one.standing is SkillStanding.SCREENED][:1]
    proven = [one for one in ranked if one.standing is not SkillStanding.SCREENED]
    chosen = (*proven[: SHOWN - len(trials)], *trials)
    if plan.rules is Rules.RANDOM:
        chance = random.Random(f"{plan.seed} {len(attempts)}")  # noqa: S311 - a search, not a secret
        return tuple(chance.sample(usable, len(chosen)))
    return chosen


def _fits(rule: Skill, refused: str | None, kinds: set[str]) -> bool:
    """Whether a rule is for such a refusal, or, for a new kernel, for operations of such a kind."""
    return refused in rule.refusals if refused else not kinds.isdisjoint(rule.preconditions.ops)


def _rank(one: RecalledSkill, kinds: set[str]) -> tuple[object, ...]:
    """Proven rules first; then by how often they helped, and how often they were tried."""
    tried = len(one.skill.trials)
    share = one.skill.helped / tried if tried else 0.0
    return USED.index(one.standing), -share, -tried, kinds.isdisjoint(one.skill.preconditions.ops), one.skill.name


def _kinds(task: Task) -> tuple[str, ...]:
    """The kinds of operations in a task, with hyphens in place of blanks."""
    return tuple(name.replace(" ", "-") for name in operations_in(task))

"""The skills for a run."""

import re
from collections.abc import Sequence

from kb.runs.journal import Plan
from kb.skillbook.library import Skillbook
from kb.skillbook.operations import operations_of
from kb.skillbook.select import Need
from kb.types.campaign import Skills
from kb.types.kernels import Interface, Task
from kb.types.protocols import RecalledSkill
from kb.types.skill import Skill, SkillStanding
from synth.briefing.topics import helps

SKILLS_CONSIDERED = 8


def need_of(
    plan: Plan, interface: Interface, scope: frozenset[str], siblings: frozenset[str], diagnosis: Sequence[str] = ()
) -> Need:
    """What a run wants skills for."""
    return Need(
        words=task_words(plan.task),
        operations=operations_of(plan.task),
        task=plan.task.digest,
        target=plan.target,
        scope=scope,
        siblings=siblings,
        language=plan.language,
        interface=interface,
        diagnosis=diagnosis,
    )


def fitting_skills(skillbook: Skillbook, plan: Plan, need: Need) -> tuple[RecalledSkill, ...]:
    """The skills for a run, best first; for a control run only those that ship with kb, as if never tried."""
    found = skillbook.select(need, lambda one: may_get(plan, one))  # one from its own task outdoes others
    offered = tuple(one for one in found.offered if _is_worth_telling(one, plan.task))
    if plan.control:
        offered = tuple(
            RecalledSkill(skill=one.skill.model_copy(update={"evidence": ()}), standing=SkillStanding.HYPOTHESIS)
            for one in offered
            if skillbook.ships(one.skill.name)
        )
    return offered[:SKILLS_CONSIDERED]


def may_get(plan: Plan, skill: Skill) -> bool:
    """Whether a run may get a skill or a rule: not one from its own task, if the others are to help."""
    own = any(evidence.task_digest == plan.task.digest for evidence in skill.evidence)
    return plan.skills is Skills.ALL or (plan.skills is Skills.OTHERS and not own)


def _is_worth_telling(one: RecalledSkill, task: Task) -> bool:
    """Whether a skill tells the author of a kernel something: not one for a part of a task that nothing speaks for."""
    is_a_guess = one.standing is SkillStanding.HYPOTHESIS and one.skill.candidate is not None
    is_for_it = one.whole or (helps(one.skill.preconditions.ops, task) and not is_a_guess)
    return is_for_it and not one.skill.is_rule  # runs get rules by class


def task_words(task: Task) -> str:
    """Search words for a task: its name and the first line of its first docstring."""
    docstring = re.search(r'"""\s*(.+)', task.source)
    words = docstring[1].strip('"') if docstring else ""
    return f"{task.name.replace('-', ' ')} {words}".strip()

"""What a run leaves in the library: a win as a skill, rules, and evidence."""

from kb.runs.entries import JournalEntry
from kb.runs.journal import Rules, Run
from kb.runs.rules import learnt, tried
from kb.skillbook.library import Skillbook
from kb.skillbook.win import skill_of_win
from kb.types.campaign import Skills
from kb.types.kernels import Candidate, Interface, Language
from kb.types.skill import Skill


def write_back(run: Run, skillbook: Skillbook, language: Language, scope: frozenset[str], interface: Interface) -> None:
    """Publish the run's best candidate if it won, and its rules, unless they are published yet.

    A run with `Skills.OTHERS` publishes rules alone: those of its own task it would not get anyway.

    Args:
        scope: Targets whose skills may be used.
    """
    plan, attempts, best = run.plan, run.attempts, run.best
    keeps_rules = plan.skills is Skills.ALL or (plan.skills is Skills.OTHERS and plan.rules is not Rules.NONE)
    if plan.control or not keeps_rules or not attempts:
        return
    skillbook.attest(*(attempt.evidence for attempt in attempts))
    _keep_rules(run, skillbook, language)
    if plan.skills is not Skills.ALL or best is None or not best.evidence.won:
        return
    skill = skill_of_win(
        plan.task,
        best.candidate,
        best.evidence,
        suffix=language.suffix,
        licence=skillbook.licence,
        note=(attempts[best.parent - 1] if best.is_tuned else best).note,
        author=best.author,
        failed=[a for a in attempts if a.candidate.digest != best.candidate.digest],
        interface=interface,
        parent=_parent(skillbook, best.candidate, scope),
    )
    _publish(run, skillbook, skill, attempts.index(best) + 1)


def _keep_rules(run: Run, skillbook: Skillbook, language: Language) -> None:
    """Publish what mended a refused kernel, and what became of the kernels whose authors had rules."""
    if run.plan.rules is Rules.LEARNT:
        for rule in tried(skillbook, run.attempts):
            skillbook.publish(rule)
    for step, rule in learnt(run.plan, run.attempts, suffix=language.suffix, licence=skillbook.licence):
        _publish(run, skillbook, rule, step)


def _publish(run: Run, skillbook: Skillbook, skill: Skill, step: int) -> None:
    """Publish what a candidate became; if a skill says the same, only its new evidence."""
    if known := next((one for one in skillbook.skills() if one.gist == skill.gist), None):
        skill = known.model_copy(update={"evidence": skill.evidence})
    if skill.name not in run.published:
        skillbook.publish(skill)
        run.append(JournalEntry(kind="published", step=step, text=skill.name))


def _parent(skillbook: Skillbook, candidate: Candidate, scope: frozenset[str]) -> Skill | None:
    """The skill with this kernel, perhaps with other parameters; if several, the one with the shortest name."""
    skills = skillbook.skills(scope=scope, language=candidate.language)
    kernels = [(skill, skill.candidate) for skill in skills if not skill.is_prose]
    same = [skill for skill, own in kernels if own and own.template_digest == candidate.template_digest]
    return min(same, key=lambda skill: len(skill.name), default=None)

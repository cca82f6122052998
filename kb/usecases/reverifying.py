"""Judges the kernels of skills again, on the tasks of their evidence, and adds what was measured."""

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kb.errors import KbError
from kb.skillbook.select import ANY
from kb.types.base import Frozen
from kb.types.evidence import Evidence
from kb.types.kernels import Candidate, Precision, Task
from kb.types.skill import Skill, SkillStanding
from kb.usecases.knowledge_base import KnowledgeBase


class Reverified(Frozen):
    """What came of one skill on one task."""

    name: str
    task: str
    target: str
    before: SkillStanding
    after: SkillStanding
    evidence: Evidence | None = None
    """None if it was not judged."""
    reason: str = ""
    """Why it was not."""


def command_for(skill: Skill, target: str | None = None) -> str:
    """The command that judges a kernel on a task of which a file is given. What is in capitals the user fills in."""
    last = skill.evidence[-1].target if skill.evidence else skill.target
    return f"`kb skills reverify {skill.name} --target {target or (last if last != ANY else 'TARGET')} --task FILE`"


class _Trial(NamedTuple):
    skill: Skill
    candidate: Candidate
    task: Task
    target: str


def reverify(
    kb: KnowledgeBase,
    names: Sequence[str] = (),
    *,
    stale: bool = False,
    target: str | None = None,
    minutes: float | None = None,
    tasks: Sequence[Task] = (),
) -> Iterator[Reverified]:
    """Judge the kernels of skills again one after the other, and add what is measured to their evidence.

    Args:
        names: Skills or proposals (default: all).
        stale: Limit to skills whose evidence is out of date.
        target: Limit to evidence for this target.
        minutes: Start no further judgement after this time.
        tasks: Tasks for the named skills, besides those of the home's runs that their evidence is about. Evidence in
            another precision is repeated in that.

    Raises:
        SkillError, TargetError: a name is unknown.
        StoreError: the home cannot be written.
    """
    chosen = [kb.skills.find(name) for name in names] or kb.skills.known()
    standings = kb.skills.standings(chosen)
    if stale:
        chosen = [skill for skill in chosen if standings[skill.name] is SkillStanding.STALE]
    elif not names:
        chosen = [skill for skill in chosen if standings[skill.name] is not SkillStanding.RETIRED]
    own = kb.targets.get(target).name if target else None
    trials = []
    stated = (*(run.plan.task for run in kb.runs), *tasks)
    in_each = (task.model_copy(update={"precision": precision}) for task in stated for precision in Precision)
    known = {task.digest: task for task in in_each}
    for skill in chosen:
        found, reason = _trials(kb, skill, known, tasks if names else (), own)
        trials += found
        if reason and (names or stale):
            yield _untried(kb, skill, f"cannot be judged: {reason}")
    deadline = time.monotonic() + minutes * 60 if minutes is not None else None
    for trial in trials:
        late = deadline is not None and time.monotonic() > deadline
        yield _untried(kb, trial.skill, "not judged: the time is up", trial) if late else _tried(kb, trial)


def _trials(
    kb: KnowledgeBase, skill: Skill, known: dict[str, Task], given: Sequence[Task], target: str | None
) -> tuple[list[_Trial], str]:
    """What to judge of a skill, or why nothing can be."""
    if (candidate := skill.candidate) is None or skill.is_prose:
        return [], f"it is prose: decide on it with `kb skills accept {skill.name}`"
    claimed = {(e.task_digest, kb.targets.name_of(e.target)): e.task for e in skill.evidence}
    wanted = claimed | {(task.digest, target or kb.targets.name_of(skill.target)): task.name for task in given}
    here = {pair: name for pair, name in wanted.items() if target in (None, pair[1])}
    if not here:
        return [], f"it has no evidence to repeat: name a task with {command_for(skill, target)}"
    missing = sorted({name for (digest, _), name in here.items() if digest not in known})
    trials = [_Trial(skill, candidate, known[digest], chip) for digest, chip in sorted(here) if digest in known]
    reason = f"no run of this home has the task {', '.join(missing)}: name its file with {command_for(skill, target)}"
    return trials, "" if trials else reason


def _tried(kb: KnowledgeBase, trial: _Trial) -> Reverified:
    before = kb.skills.standing(trial.skill)
    try:
        evidence = kb.verify(trial.task, trial.candidate, trial.target)
    except KbError as error:  # the judge, the task or the target: the next skill may do without them
        return _untried(kb, trial.skill, f"not judged: {error.message}", trial)
    kb.skills.attest(evidence)
    skill = kb.skills.publish(trial.skill.model_copy(update={"evidence": (*trial.skill.evidence, evidence)}))
    return Reverified(
        name=skill.name,
        task=trial.task.name,
        target=trial.target,
        before=before,
        after=kb.skills.standing(skill),
        evidence=evidence,
    )


def _untried(kb: KnowledgeBase, skill: Skill, reason: str, trial: _Trial | None = None) -> Reverified:
    standing = kb.skills.standing(skill)
    task, target = (trial.task.name, trial.target) if trial else ("", skill.target)
    return Reverified(name=skill.name, task=task, target=target, before=standing, after=standing, reason=reason)

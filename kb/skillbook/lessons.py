"""What a run learnt beside its win, as proposals: what mended a refused kernel."""

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import unified_diff
from itertools import pairwise

from kb.skillbook.files import one_line
from kb.skillbook.operations import stated_for
from kb.skillbook.win import body_of, named
from kb.types.evidence import Evidence, Outcome
from kb.types.kernels import Candidate, Task
from kb.types.protocols import Attempt
from kb.types.skill import Preconditions, Skill, SkillKind

MOST_CHANGED = 2000
"""Most characters of a change that counts as mending a kernel; a larger change makes another kernel."""


def pitfalls_of(
    task: Task,
    attempts: Sequence[Attempt],
    known: Iterable[Skill] = (),
    *,
    licence_of: Callable[[Candidate], str] = lambda _: "",
) -> list[Skill]:
    """A pitfall for each refused kernel that the next attempt mended, if none tells of the same mistake.

    Args:
        attempts: In the order in which they were made.
        known: The skills and proposals that there are.
        licence_of: Gives the licence of a kernel, which a text with parts of it has too.
    """
    found: dict[tuple[object, ...], Skill] = {}
    for refused, mended in pairwise(attempts):
        if pitfall := _pitfall(task, refused, mended, licence_of(mended.candidate)):
            found.setdefault(_mistake(pitfall), pitfall)
    told = {_mistake(skill) for skill in known}
    return [named(pitfall) for mistake, pitfall in found.items() if mistake not in told]


def _mistake(skill: Skill) -> tuple[object, ...]:
    """Where a skill holds and its title, in which no number of a run stands."""
    return skill.kind, skill.target, skill.language, skill.preconditions.ops, skill.body.partition("\n")[0]


def _pitfall(task: Task, refused: Attempt, mended: Attempt, licence: str) -> Skill | None:
    """The refusal and the change after which the kernel passed; None if this is not such a pair."""
    change, before, after = _change(refused, mended), refused.evidence, mended.evidence
    if before.passed or not after.passed or not 0 < len(change) <= MOST_CHANGED:
        return None
    outcome, kernel = before.outcome.replace("_", " "), f"A {after.language} kernel for {task.name} on {after.target}"
    sections = {
        "When": f"{kernel} was refused. The judge said:\n\n> {one_line(before.detail, 400) or outcome}",
        "Why": f"In the words of the synthesizer, unchecked:\n\n> {one_line(mended.note, 400) or '(none)'}",
        "What mended it": f"With this change it passed:\n\n{change}",
    }
    return Skill(
        name=f"{outcome}-{task.name}-{after.target}",
        kind=SkillKind.PITFALL,
        description=f"{kernel} was refused ({outcome}), and what mended it. Use it when a similar kernel is refused "
        "in this way, or before writing one.",
        body=body_of(_title(before, change), sections),
        target=after.target,
        language=after.language,
        preconditions=Preconditions(ops=stated_for(task)),
        candidate=None,
        suffix="",
        license=licence,
        evidence=(before, after),
    )


def _title(refused: Evidence, change: str) -> str:
    """The judge's reason without numbers; for wrong results, which have many causes, the first changed line."""
    first = {line[0]: one_line(line[1:], 100) for line in reversed(change.splitlines()) if line[1:].strip()}
    if refused.outcome is Outcome.INCORRECT and (changed := first.get("-") or first.get("+")):
        return f"{refused.outcome} {'with' if '-' in first else 'without'} {changed}"
    return refused.signature


def _change(before: Attempt, after: Attempt) -> str:
    """The changed lines, as a fenced block; empty if nothing changed."""
    old, new = (attempt.candidate.source.splitlines() for attempt in (before, after))
    lines = list(unified_diff(old, new, lineterm="", n=1))[2:]
    fence = "`" * max(3, *(1 + len(run) for run in re.findall("`+", "".join(lines))), 0)
    return "\n".join((f"{fence}diff", *lines, fence)) if lines else ""

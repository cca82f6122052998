"""What a run learnt beside its win, as proposals: what mended a refused kernel, and what one parameter gained."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import unified_diff
from itertools import pairwise, permutations
from typing import NamedTuple

from kb.skillbook.files import one_line
from kb.skillbook.operations import stated_for
from kb.skillbook.standing import is_faster, place_of
from kb.skillbook.win import body_of, named
from kb.types.evidence import WIN_MARGIN, Evidence, Outcome
from kb.types.kernels import Task
from kb.types.protocols import Attempt
from kb.types.skill import Preconditions, Skill, SkillKind

MOST_CHANGED = 2000
"""Most characters of a change that counts as mending a kernel; a larger change makes another kernel."""


class _Gain(NamedTuple):
    """The effect of one parameter's value."""

    factor: float
    slow: Attempt
    fast: Attempt
    parameter: str
    old: int
    new: int


def lessons_of(
    task: Task, attempts: Sequence[Attempt], *, suffix: str, licence_of: Callable[[Skill], str] = lambda _: ""
) -> list[Skill]:
    """The proposals of a run: a pitfall for each refused kernel that the next attempt mended, and its best technique.

    Args:
        attempts: In the order in which they were made.
        suffix: Suffix of a kernel's file.
        licence_of: Gives the licence of a proposal.
    """
    found = [_pitfall(task, *pair, suffix) for pair in pairwise(attempts)]
    lessons = filter(None, (*found, _technique(task, attempts, suffix)))
    return [named(lesson.model_copy(update={"license": licence_of(lesson)})) for lesson in lessons]


def _pitfall(task: Task, refused: Attempt, mended: Attempt, suffix: str) -> Skill | None:
    """The refusal and the change after which the kernel passed; None if this is not such a pair."""
    change = _change(refused, mended)
    if refused.evidence.passed or not mended.evidence.passed or not 0 < len(change) <= MOST_CHANGED:
        return None
    outcome, kernel = refused.evidence.outcome.replace("_", " "), _kernel(task, mended)
    return _lesson(
        task,
        (refused, mended),
        kind=SkillKind.PITFALL,
        name=f"{outcome}-{task.name}",
        title=_mistake(refused.evidence, change),
        description=f"{kernel} was refused ({outcome}), and what mended it. Use it when a similar kernel is refused "
        "in this way, or before writing one.",
        sections={
            "When": f"{kernel} was refused. The judge said:\n\n> {one_line(refused.evidence.detail, 400) or outcome}",
            "Why": f"In the words of the synthesizer, unchecked:\n\n> {one_line(mended.note, 400) or '(none)'}",
            "What mended it": f"With this change it passed:\n\n{change}",
        },
        suffix=suffix,
    )


def _mistake(refused: Evidence, change: str) -> str:
    """The judge's reason without numbers; for wrong results, which have many causes, the first changed line."""
    first = {line[0]: one_line(line[1:], 100) for line in reversed(change.splitlines()) if line[1:].strip()}
    if refused.outcome is Outcome.INCORRECT and (changed := first.get("-") or first.get("+")):
        return f"{refused.outcome} {'with' if '-' in first else 'without'} {changed}"
    return refused.signature


def _technique(task: Task, attempts: Sequence[Attempt], suffix: str) -> Skill | None:
    """The value of one parameter that gained most while all else stayed the same; None if none gained for certain."""
    best = max(_gains(attempts), key=lambda gain: gain.factor, default=None)
    if best is None or best.factor < WIN_MARGIN:
        return None
    factor, slow, fast, parameter, old, new = best
    kernel, faster = _kernel(task, fast), f"{factor:.2f} times as fast"
    return _lesson(
        task,
        (slow, fast),
        kind=SkillKind.TECHNIQUE,
        name=f"{parameter}-{new}-{task.name}",
        title=f"Set {parameter} to {new}",
        description=f"{kernel} became {faster} with {parameter} = {new} instead of {old}. Use it to "
        "choose the first values for a similar kernel.",
        sections={
            "What": f"{kernel} was timed with {parameter} = {old} and with {new}; all else was the same.",
            "Effect": f"It became {faster}: {_speed(fast)}, after {_speed(slow)}.",
            "When not to use": "In other kernels and at other sizes, unless it is measured there.",
        },
        suffix=suffix,
    )


def _gains(attempts: Sequence[Attempt]) -> Iterator[_Gain]:
    """Each change of one parameter that made a kernel faster: by its speed-up for certain, and by its own time."""
    timed = [a for a in attempts if a.evidence.speedup]
    values = [{p.name: p.value for p in a.candidate.parameters} for a in timed]
    kernels = [(a.candidate.template_digest, place_of(a.evidence)) for a in timed]
    for i, k in permutations(range(len(timed)), 2):
        changed = [name for name in values[i] if values[i][name] != values[k].get(name)]
        slow, fast = timed[i], timed[k]
        if kernels[i] == kernels[k] and len(changed) == 1 and is_faster(fast.evidence, slow.evidence):
            factor = slow.evidence.time_us / fast.evidence.time_us
            yield _Gain(factor, slow, fast, changed[0], values[i][changed[0]], values[k][changed[0]])


def _lesson(
    task: Task,
    pair: tuple[Attempt, Attempt],
    *,
    kind: SkillKind,
    name: str,
    title: str,
    description: str,
    sections: Mapping[str, str],
    suffix: str,
) -> Skill:
    """A proposal with both kernels, so that others can judge them."""
    before, after = (attempt.evidence for attempt in pair)
    return Skill(
        name=f"{name}-{after.target}",
        kind=kind,
        description=description,
        body=body_of(title, {**sections, "Evidence": f"Before: `{before.id[:12]}`. After: `{after.id[:12]}`."}),
        target=after.target,
        language=after.language,
        preconditions=Preconditions(ops=stated_for(task)),
        candidate=pair[1].candidate,
        worse=pair[0].candidate,
        suffix=suffix,
        evidence=(before, after),
    )


def _kernel(task: Task, attempt: Attempt) -> str:
    return f"A {attempt.candidate.language} kernel for {task.name} on {attempt.evidence.target}"


def _speed(attempt: Attempt) -> str:
    """Its speed-up with the interval."""
    timing = attempt.evidence.timing
    return f"{timing.speedup:.2f} ({timing.low:.2f} to {timing.high:.2f}) times {timing.baseline}" if timing else ""


def _change(before: Attempt, after: Attempt) -> str:
    """The changed lines, as a fenced block; empty if nothing changed."""
    old, new = (attempt.candidate.source.splitlines() for attempt in (before, after))
    lines = list(unified_diff(old, new, lineterm="", n=1))[2:]
    fence = "`" * max(3, *(1 + len(run) for run in re.findall("`+", "".join(lines))), 0)
    return "\n".join((f"{fence}diff", *lines, fence)) if lines else ""

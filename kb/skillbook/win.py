"""The skill for a kernel that won. Every number in it comes from the judge."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from string import ascii_letters

from kb.errors import SkillError
from kb.skillbook.files import MOST_BODY_TOKENS, one_line
from kb.skillbook.operations import stated_for
from kb.storage import slug
from kb.types.base import tokens_of
from kb.types.evidence import Evidence, Timing
from kb.types.kernels import Candidate, Interface, Task
from kb.types.protocols import Attempt
from kb.types.skill import Preconditions, Skill

FAILURES_SHOWN = 12
WHY, QUOTED = "Why it should be fast", "\n\nFrom "


def skill_of_win(
    task: Task,
    candidate: Candidate,
    evidence: Evidence,
    *,
    suffix: str,
    licence: str = "",
    note: str = "",
    failed: Sequence[Attempt] = (),
    interface: Interface | None = None,
    parent: Skill | None = None,
) -> Skill:
    """The skill to publish for a candidate that won. Every number in it comes from the judge.

    Args:
        suffix: Suffix of the candidate's file in its language.
        licence: Licence of the skill, unless it has a parent: then it has the parent's.
        note: The synthesizer's note on the candidate; quoted.
        failed: Attempts on the same task that were refused or slower.
        interface: Interface of the task.
        parent: The skill with the same kernel, possibly with other parameter values; its description is passed on.

    Raises:
        SkillError: `evidence` is not a win, or not for this candidate and task.
    """
    timing, target = _won(task, candidate, evidence), evidence.target
    gain = f"{timing.speedup:.2f} times as fast as {timing.baseline} on {evidence.environment.get('machine', target)}"
    sections = {
        "What": f"A {candidate.language} kernel for the task `{task.name}`, {gain}.",
        "When to use": f"For that task on {target}, or as a start for a similar task.{_tensors(interface)}",
        "When not to use": "On another target or at other sizes, unless it is measured there: it was correct in "
        f"{len(evidence.cases)} cases, and timed on {target} at the sizes in the task's file.",
        WHY: f"In the words of its synthesizer, unchecked:\n\n> {one_line(note, 2000) or '(none)'}",
        "Parameters": _parameters(candidate),
        "Evidence": _measured(evidence, timing),
        "What failed": _failures(failed, candidate),
    }
    about = f"Use it to write or tune a kernel for that task or a similar one on {target}."
    if parent:
        same = parent.candidate == candidate
        about = f"It is {parent.name}{'' if same else ' with other parameters'}. {parent.description}"
        for title in ("When to use", "When not to use", WHY):
            sections[title] += _origin(parent, title)
    skill = Skill(
        name=f"{task.name}-{target}",
        description=one_line(f"A {candidate.language} kernel for {task.name}, {gain}. {about}", 1024),
        body=body_of(f"{task.name} on {target}", sections),
        license=parent.license if parent else licence,
        target=target,
        language=candidate.language,
        preconditions=Preconditions(
            ops=parent.preconditions.ops if parent and parent.preconditions.ops else stated_for(task)
        ),
        candidate=candidate,
        suffix=suffix,
        evidence=(evidence,),
    )
    return named(skill)


def _won(task: Task, candidate: Candidate, evidence: Evidence) -> Timing:
    """The times of a win. Raises SkillError if it is none, or of another candidate or task."""
    own = (evidence.candidate_digest, evidence.task_digest) == (candidate.digest, task.digest)
    if evidence.timing is None or not (evidence.won and own):
        raise SkillError(
            f"candidate {candidate.digest[:12]} has not won on task {task.name!r}",
            hint="only a candidate that the judge measured as faster than the best baseline becomes a skill",
        )
    return evidence.timing


def body_of(title: str, sections: Mapping[str, str]) -> str:
    """The text of a skill, of which the longest sections lose their ends until agents can read it well."""
    texts = dict(sections)

    def body() -> str:
        return "\n\n".join([f"# {one_line(title, 200)}", *(f"## {name}\n\n{text}" for name, text in texts.items())])

    left_out = dict.fromkeys(texts, 0)
    lines = {name: text.splitlines() for name, text in texts.items()}
    while tokens_of(body()) > MOST_BODY_TOKENS:
        longest = max(texts, key=lambda name: len(texts[name]))
        kept = lines[longest]
        if len(kept) > 1:
            left_out[longest] += len(kept) - (most := len(kept) * 3 // 4)
            lines[longest] = kept[:most]
        else:
            lines[longest] = [f"{kept[0][: len(kept[0]) // 2]}..."]
        texts[longest] = _cut(lines[longest], left_out[longest])
    return body()


def _cut(lines: Sequence[str], left_out: int) -> str:
    """The beginning of a text, with the end of a block of code that it breaks off."""
    fences = [line for line in lines if line.startswith("```")]
    ends = [fences[0].rstrip(ascii_letters)] if len(fences) % 2 else []
    note = ["", f"({left_out} lines are left out.)"] if left_out else []
    return "\n".join([*lines, *ends, *note])


def _origin(parent: Skill, title: str) -> str:
    """What the first in the line of parents says in a section; empty if it says nothing."""
    said = section(parent.body, title)
    _, earlier, first = said.rpartition(QUOTED)
    return f"{QUOTED}{first if earlier else f'{parent.name}:{chr(10) * 2}{said}'}" if said else ""


def named(skill: Skill) -> Skill:
    """The skill with a digest of it added to its name, so that two homes never give one name to two skills."""
    stem = skill.model_copy(update={"name": slug(skill.name)[:55].rstrip("-")})
    return stem.model_copy(update={"name": f"{stem.name}-{stem.content_digest[:8]}"})


def _measured(evidence: Evidence, timing: Timing) -> str:
    """The judge's measurements, as a table and two sentences."""
    measured = {
        "machine": evidence.environment.get("machine", evidence.target),
        "kernel (us)": f"{timing.candidate_us:.2f}",
        "baseline": timing.baseline,
        "baseline (us)": f"{timing.baseline_us:.2f}",
        "speed-up": f"{timing.speedup:.2f}",
        "95 % interval": f"{timing.low:.2f} to {timing.high:.2f}",
        "sessions": len(timing.sessions),
    }
    baselines = [f"{what} {us:.2f} us" for what, us in timing.baselines_us.items()]
    versions = [f"{what} {which}" for what, which in sorted(evidence.environment.items()) if what != "machine"]
    return (
        f"{_table(measured, measured.values())}\n\nBaselines tried: {', '.join(baselines)}.\n\n"
        f"Made with: {', '.join(versions) or 'not recorded'}."
    )


def section(body: str, title: str) -> str:
    """The text below a heading of a skill's body; empty if there is no such heading."""
    below = body.partition(f"## {title}\n")[2].splitlines()
    return "\n".join(takewhile(lambda line: not line.startswith("## "), below)).strip()


def _tensors(interface: Interface | None) -> str:
    """Inputs, state and outputs of the task, as a list."""
    if interface is None:
        return ""
    groups = {"inputs": interface.inputs, "state": interface.state, "outputs": interface.outputs}
    return "\n" + "".join(f"\n- {name}: {', '.join(map(str, specs))}" for name, specs in groups.items() if specs)


def _parameters(candidate: Candidate) -> str:
    rows = [(p.name, p.value, ", ".join(map(str, p.choices))) for p in candidate.parameters]
    return _table(("parameter", "value", "choices"), *rows) if rows else "None are declared."


def _failures(failed: Sequence[Attempt], winner: Candidate) -> str:
    """A list of the first attempts that failed in different ways."""
    failures = dict.fromkeys(_failure(a, winner) for a in failed if a.candidate.digest != winner.digest)
    return "\n".join(list(failures)[:FAILURES_SHOWN]) or "Nothing is recorded."


def _failure(attempt: Attempt, winner: Candidate) -> str:
    """One list item that says what was tried and how it failed."""
    candidate, evidence = attempt.candidate, attempt.evidence
    what = one_line(attempt.note, 100) or "another kernel"
    if candidate.template_digest == winner.template_digest:
        changed = [f"{p.name} = {p.value}" for p in candidate.parameters if p not in winner.parameters]
        what = ", ".join(changed) or what
    if evidence.timing and not evidence.timing.busy:
        return f"- {what}: {evidence.timing.speedup:.2f} times as fast as {evidence.timing.baseline}"
    came = "passed, not timed" if evidence.passed else one_line(f"{evidence.outcome} {evidence.detail}", 200)
    return f"- {what}: {came}"


def _table(header: Iterable[object], *rows: Iterable[object]) -> str:
    lines = ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in (header, *rows)]
    return "\n".join((lines[0], "|---" * len(list(header)) + "|", *lines[1:]))

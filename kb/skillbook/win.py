"""The skill for a kernel that won. Every number in it comes from the judge."""

from collections.abc import Mapping, Sequence

from kb.errors import SkillError
from kb.skillbook.files import MOST_BODY_TOKENS, one_line
from kb.skillbook.lint import sound
from kb.skillbook.operations import stated_for
from kb.storage import slug
from kb.types.base import tokens_of
from kb.types.evidence import Evidence
from kb.types.kernels import Candidate, Interface, Task, workload_name
from kb.types.protocols import Attempt
from kb.types.skill import Preconditions, Skill
from kb.types.timing import Timing

FAILURES_SHOWN = 12


def skill_of_win(
    task: Task,
    candidate: Candidate,
    evidence: Evidence,
    *,
    suffix: str,
    licence: str = "",
    note: str = "",
    author: str = "",
    failed: Sequence[Attempt] = (),
    interface: Interface | None = None,
    parent: Skill | None = None,
) -> Skill:
    """The skill to publish for a candidate that won. Every number in it comes from the judge.

    Args:
        suffix: Suffix of the candidate's file in its language.
        licence: Licence of the skill, unless it has a parent: then it has the parent's.
        note: The synthesizer's note on the candidate; quoted.
        author: Who wrote the candidate, if somebody was asked.
        failed: Attempts on the same task that were refused or slower.
        interface: Interface of the task.
        parent: The skill with the same kernel, possibly with other parameter values; its description is passed on.

    Raises:
        SkillError: `evidence` is not a win, or not for this candidate and task.
    """
    timing, target = _won(task, candidate, evidence), evidence.target
    others = f"these workloads: {'; '.join(workload_name(one.workload) for one in timing.workloads)}"
    sizes = others if timing.other_workloads else "the sizes in the task's file"
    gain = f"{timing.speedup:.2f} times as fast as {timing.rivals} on {evidence.machine or target}"
    sections = {
        "What": f"A {candidate.language} kernel for the task `{task.name}`, {gain}.",
        "When to use": f"For that task on {target}, or as a start for a similar task.{_tensors(interface)}",
        "When not to use": "On another target or at other sizes, unless it is measured there: it was correct in "
        f"{len(evidence.cases)} cases, and timed on {target} at {sizes}, in precision `{task.precision}`."
        + (f" It was {evidence.limit}." if evidence.limit else ""),
        "Why it should be fast": f"In the words of {author or 'its synthesizer'}, unchecked:\n\n"
        f"> {sound(one_line(note, 1000)) or '(none)'}",
        "What failed": _failures(failed, candidate),
    }
    about, stated = f"Use it to write or tune a kernel for that task or a similar one on {target}.", tuple[str, ...]()
    if parent:
        same, stated = parent.candidate == candidate, parent.preconditions.ops
        about = f"It is {parent.name}{'' if same else ' with other parameters'}. {parent.description}"
    skill = Skill(
        name=f"{task.name}-{target}",
        description=one_line(f"A {candidate.language} kernel for {task.name}, {gain}. {about}", 1024),
        body=body_of(f"{task.name} on {target}", sections),
        license=parent.license if parent else licence,
        target=target,
        language=candidate.language,
        preconditions=Preconditions(ops=tuple(dict.fromkeys((*stated, *stated_for(task))))),
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
    """The text of a skill, of which the longest sections lose their last lines until agents can read it well."""
    lines = {name: text.splitlines() for name, text in sections.items()}

    def body() -> str:
        texts = ("\n".join((f"## {name}", "", *own)) for name, own in lines.items())
        return "\n\n".join((f"# {one_line(title, 200)}", *texts))

    while tokens_of(body()) > MOST_BODY_TOKENS:
        longest = max(lines.values(), key=lambda own: sum(map(len, own)))
        longest[-1:] = [] if len(longest) > 1 else [f"{longest[0][: len(longest[0]) // 2]}..."]
    return body()


def named(skill: Skill) -> Skill:
    """The skill with a digest of it added to its name, so that two homes never give one name to two skills."""
    stem = skill.model_copy(update={"name": slug(skill.name)[:55].rstrip("-")})
    return stem.model_copy(update={"name": f"{stem.name}-{stem.content_digest[:8]}"})


def _tensors(interface: Interface | None) -> str:
    """Inputs, state and outputs of the task, as a list."""
    if interface is None:
        return ""
    groups = {"inputs": interface.inputs, "state": interface.state, "outputs": interface.outputs}
    return "\n" + "".join(f"\n- {name}: {', '.join(map(str, specs))}" for name, specs in groups.items() if specs)


def _failures(failed: Sequence[Attempt], winner: Candidate) -> str:
    """A list of the first attempts that failed in different ways."""
    failures = dict.fromkeys(_failure(a, winner) for a in failed if a.candidate.digest != winner.digest)
    return "\n".join(list(failures)[:FAILURES_SHOWN]) or "Nothing is recorded."


def _failure(attempt: Attempt, winner: Candidate) -> str:
    """One list item that says what was tried and how it failed."""
    candidate, evidence = attempt.candidate, attempt.evidence
    what = sound(one_line(attempt.note, 100)) or "another kernel"
    if candidate.template_digest == winner.template_digest:
        changed = [f"{p.name} = {p.value}" for p in candidate.parameters if p not in winner.parameters]
        what = ", ".join(changed) or what
    if evidence.timing and not evidence.timing.busy:
        return f"- {what}: {evidence.timing.speedup:.2f} times as fast as {evidence.timing.rivals}"
    refusal = sound(one_line(f"{evidence.outcome} {evidence.detail}", 200)) or evidence.outcome
    came = "passed, not timed" if evidence.passed else refusal
    return f"- {what}: {came}"

"""What the kernel of a skill gained: its time beside the best baseline's, and times of runs with it and without."""

from collections.abc import Sequence

from kb.runs.journal import Run
from kb.skillbook.standing import Place, place_of
from kb.types.base import Frozen
from kb.types.skill import Skill
from kb.usecases.knowledge_base import KnowledgeBase


class Gain(Frozen):
    """On one task and machine, as measured here. All times are of one call, in microseconds."""

    task: str
    target: str
    machine: str
    kernel_us: float
    """The newest measurement."""
    baseline: str
    """Name of the best baseline."""
    baseline_us: float
    """Measured together with the kernel."""
    with_us: float | None
    """The fastest kernel of the runs that took up the skill; None if there was no such run."""
    without_us: float | None
    """The fastest kernel of the runs that took up no skill but what ships with kb, as `kb optimize --control` does."""

    def __str__(self) -> str:
        text = f"{self.task} for {self.target} on {self.machine or 'an unknown machine'}: "
        text += f"{self.kernel_us:,.2f} us, {self.baseline} {self.baseline_us:,.2f} us"
        runs = (("with it", self.with_us), ("without skills", self.without_us))
        reached = ", ".join(f"{time:,.2f} us {which}" for which, time in runs if time is not None)
        return f"{text}; runs reached {reached}" if reached else text


def gains_of(kb: KnowledgeBase, skill: Skill) -> tuple[Gain, ...]:
    """The gains of a skill's kernel, the newest first; none for prose. Times on other machines are not compared."""
    here = kb.skills.measured_here()
    own = () if skill.is_prose else skill.own_evidence
    timed = [e for e in own if e.timing and not e.timing.busy and e.id in here]
    newest = {place_of(e): e for e in sorted(timed, key=lambda e: e.created)}
    tasks = {e.task_digest for e in timed}
    runs = [run for run in kb.runs if run.plan.task.digest in tasks] if tasks else []
    with_it = [run for run in runs if skill.name in _used(run)]
    without = [run for run in runs if not any(name == skill.name or not kb.skills.ships(name) for name in _used(run))]
    return tuple(
        Gain(
            task=e.task,
            target=e.target,
            machine=e.machine,
            kernel_us=e.timing.candidate_us,
            baseline=e.timing.baseline,
            baseline_us=e.timing.baseline_us,
            with_us=_fastest(with_it, place),
            without_us=_fastest(without, place),
        )
        for place, e in sorted(newest.items(), key=lambda pair: pair[1].created, reverse=True)
        if e.timing
    )


def _used(run: Run) -> set[str]:
    """The skills that its candidates were made from, without its own; none for a control run."""
    used = () if run.plan.control else (name for attempt in run.attempts for name in attempt.skills_used)
    return set(used) - set(run.published)


def _fastest(runs: Sequence[Run], place: Place) -> float | None:
    """The shortest time in a place; None if nothing was timed there."""
    judged = (attempt.evidence for run in runs for attempt in run.attempts)
    times = [e.time_us for e in judged if e.speedup is not None and place_of(e) == place]
    return min(times, default=None)

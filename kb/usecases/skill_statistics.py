"""What skills are worth: their uses, what runs reached with and without them, and what is covered."""

from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from kb.runs.journal import Run
from kb.types.base import Frozen
from kb.types.skill import Skill, SkillStanding
from kb.types.skill_record import UseOutcome
from kb.usecases.curating import measured

if TYPE_CHECKING:
    from kb.usecases.knowledge_base import KnowledgeBase

ANY_OP = "any"


class Arms(Frozen):
    """The best speed-up of each run of this home on one task: three arms, of which the last two are for comparison."""

    task: str
    target: str
    with_skill: tuple[float, ...]
    without: tuple[float, ...]
    """Of runs that took up no skill with evidence."""
    other: tuple[float, ...]
    """Of runs that took up other skills."""

    @property
    def lift(self) -> float | None:
        """Median with the skill over median without; None if one of them was not measured or is 0."""
        without = median(self.without) if self.without else 0.0
        return median(self.with_skill) / without if without else None


class SkillStatistics(Frozen):
    name: str
    standing: SkillStanding
    value: float
    uses: dict[UseOutcome, int]
    speedup: float | None
    """The best that was measured here, or by someone who is trusted here."""
    arms: tuple[Arms, ...]

    @property
    def harm(self) -> float | None:
        """Share of its uses that failed or could not be made; None if it was never used."""
        bad = self.uses.get(UseOutcome.FAILED, 0) + self.uses.get(UseOutcome.INAPPLICABLE, 0)
        return bad / sum(self.uses.values()) if self.uses else None


class Coverage(Frozen):
    """How many skills there are for an operation on a target."""

    op: str
    target: str
    standings: dict[SkillStanding, int]


class Statistics(Frozen):
    skills: tuple[SkillStatistics, ...]
    coverage: tuple[Coverage, ...]
    proposals: int
    """Number of proposals on which nobody has decided."""


def statistics(kb: "KnowledgeBase", skills: Sequence[Skill], *, proposals: int) -> Statistics:
    runs, standings = list(kb.runs), kb.skills.standings()
    cells: dict[tuple[str, str], Counter[SkillStanding]] = {}
    for skill in skills:
        for op in skill.preconditions.ops or (ANY_OP,):
            cells.setdefault((op, skill.target), Counter())[standings[skill.name]] += 1
    return Statistics(
        skills=tuple(statistics_of(kb, skill, standings[skill.name], runs) for skill in skills),
        coverage=tuple(Coverage(op=op, target=t, standings=dict(n)) for (op, t), n in sorted(cells.items())),
        proposals=proposals,
    )


def statistics_of(kb: "KnowledgeBase", skill: Skill, standing: SkillStanding, runs: Sequence[Run]) -> SkillStatistics:
    """The statistics of one skill; of several uses by one run the last counts, as in its value."""
    content = skill.content_digest
    used = {r.by: r.outcome for r in skill.records if r.outcome and r.content_digest == content}
    here = [m.evidence.speedup for m in measured(kb, skill) if m.by and m.own]
    return SkillStatistics(
        name=skill.name,
        standing=standing,
        value=kb.skills.value(skill),
        uses=dict(Counter(used.values())),
        speedup=max((speedup for speedup in here if speedup is not None), default=None),
        arms=_arms(skill.name, runs),
    )


def _arms(name: str, runs: Sequence[Run]) -> tuple[Arms, ...]:
    """The arms of each task and target on which a run took up the skill and something was timed."""
    arms: dict[tuple[str, str], tuple[str, dict[str, list[float]]]] = {}
    for run in runs:
        if run.best and run.best.evidence.speedup is not None:
            used = {name for entry in run.entries if entry.proposal for name in entry.proposal.skills_used}
            arm = "without" if run.plan.control or not used else "with_skill" if name in used else "other"
            place = (run.plan.task.digest, run.plan.target)
            _, speedups = arms.setdefault(place, (run.plan.task.name, {"with_skill": [], "without": [], "other": []}))
            speedups[arm].append(run.best.evidence.speedup)
    return tuple(
        Arms(task=task, target=target, **{arm: tuple(each) for arm, each in speedups.items()})
        for (_, target), (task, speedups) in arms.items()
        if speedups["with_skill"]
    )

"""What a run took from skills: what came of each, and which part of the result they gave."""

from collections.abc import Sequence

from kb.runs.journal import Run
from kb.types.base import Frozen
from kb.types.evidence import Evidence, Outcome
from kb.types.skill_record import UseOutcome

UNUSABLE = (Outcome.COMPILE_ERROR, Outcome.INCOMPATIBLE_PARAMETERS, Outcome.BAD_OUTPUT)
"""Refusals that say that a kernel is for other tools or other tensors."""


class Part(Frozen):
    """The fastest candidate of one origin."""

    attempt: int
    """Its number in the run, from 1."""
    speedup: float
    time_us: float
    skill: str = ""
    """Name of the skill whose kernel it is, unchanged; empty if the run changed or wrote it."""


class Credit(Frozen):
    """Which part of a run's result skills gave, and which part it found itself."""

    recalled: Part | None
    """The fastest kernel that a skill held; None if none was timed."""
    found: Part | None
    """The fastest that the run changed or wrote; None if none was timed."""

    @property
    def gain(self) -> float | None:
        """How many times as fast as the recalled kernel the found one is; None if one of them is missing."""
        return self.recalled.time_us / self.found.time_us if self.found and self.recalled else None


def credit_of(run: Run) -> Credit:
    """The parts of a run's result."""
    parts = [
        Part(attempt=number, speedup=evidence.speedup, time_us=evidence.time_us, skill=attempt.recalled)
        for number, attempt in enumerate(run.attempts, start=1)
        if (evidence := attempt.evidence).speedup
    ]

    def fastest(parts: Sequence[Part]) -> Part | None:
        return min(parts, key=lambda part: part.time_us, default=None)

    return Credit(
        recalled=fastest([part for part in parts if part.skill]),
        found=fastest([part for part in parts if not part.skill]),
    )


def uses_of(run: Run) -> dict[str, tuple[Evidence, ...]]:
    """The skills that candidates of a run were made from, each with the verdicts on these candidates in order.

    What the run itself published is no longer a use of what others learnt.
    """
    published = {entry.text: entry.step for entry in run.entries if entry.kind == "published"}
    uses: dict[str, tuple[Evidence, ...]] = {}
    for step, attempt in enumerate(run.attempts, start=1):
        for name in attempt.skills_used:
            if step <= published.get(name, step):
                uses[name] = (*uses.get(name, ()), attempt.evidence)
    return uses


def outcome_of(verdicts: Sequence[Evidence]) -> UseOutcome:
    """What came of a skill, by the verdicts on the candidates that were made from it."""
    if any(verdict.won for verdict in verdicts):
        return UseOutcome.REPRODUCED
    if any(verdict.passed for verdict in verdicts):
        return UseOutcome.NO_WIN
    return UseOutcome.INAPPLICABLE if all(v.outcome in UNUSABLE for v in verdicts) else UseOutcome.FAILED

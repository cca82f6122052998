"""Which part of a run's result skills gave, and which part the run found itself."""

from collections.abc import Sequence

from kb.runs.journal import Run
from kb.types.base import Frozen


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

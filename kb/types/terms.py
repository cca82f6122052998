"""The terms on which a candidate is judged: what judges it, and what it is compared with."""

from typing import Literal

from pydantic import Field

from kb.types.base import Frozen

Judged = Literal["gpu", "cpu", "screen", "simulator", "built", "nowhere"]
"""How: timed on a GPU or a CPU; interpreted and compiled for the target; run in a simulator; only built; not at all."""


class Best(Frozen):
    """The fastest time that is known for a task on the device."""

    what: str
    time_us: float


class Terms(Frozen):
    """What an author has to know of the judge."""

    judged: Judged = "nowhere"
    device: str = ""
    """Name of the processor or GPU that times it; empty if it is not known."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Of what compiles and runs the candidate."""
    baselines: tuple[str, ...] = ()
    """Those that are tried; the fastest counts."""
    known: tuple[Best, ...] = ()
    """Times of earlier verdicts, the fastest baseline first."""
    roof: tuple[str, ...] = ()
    """The bounds on the time, longest first, with citations."""

    @property
    def is_timed(self) -> bool:
        return self.judged in ("gpu", "cpu")

"""Reads the table of kernels whose verdict is known."""

import tomllib
from functools import cache
from pathlib import Path

from pydantic import Field

from eval.languages.registry import language_of
from eval.task import load_task
from eval.worker.process import Guard
from kb.model.base import Frozen
from kb.model.evidence import Outcome
from kb.model.kernels import Candidate, Task

HERE = Path(__file__).parent
TABLE, WRONG, CORRECT, TASKS = HERE / "known.toml", HERE / "wrong", HERE / "correct", HERE / "tasks"


class Known(Frozen):
    """A kernel and the verdict that it must get."""

    file: str
    """In `wrong` or `correct`."""
    task: str = "scale"
    """Name of the task that it is tried on."""
    device: str = "Cpu"
    """Name of the class in eval.devices that judges it."""
    outcomes: tuple[Outcome, ...] = (Outcome.PASSED,)
    """The outcomes that it may have; several if it depends on chance which guard is first."""
    guard: Guard | None = None
    """The guard that catches it. None if no guard can be switched off, because it gives nothing to accept."""
    call_s: float | None = None
    """Time limit for a call; without the limit it is accepted."""
    timed: bool = False
    """Whether its verdict needs timing: a cheat is correct when it is checked and cheats when it is timed."""
    hidden: dict[str, int] = Field(default_factory=dict)
    """Sizes at which it is wrong; without them it is accepted."""
    settle_s: float = 0.05
    """Time during which tests watch its outputs: longer than its delay, even on a loaded machine."""

    @property
    def path(self) -> Path:
        return (CORRECT if self.honest else WRONG) / self.file

    @property
    def honest(self) -> bool:
        return self.outcomes == (Outcome.PASSED,)

    @property
    def candidate(self) -> Candidate:
        return read_candidate(self.path)


class Table(Frozen):
    """The whole table."""

    cheats: tuple[Known, ...]
    honest: tuple[Known, ...]
    apart: tuple[str, ...]
    """Files of `wrong` that have tests of their own; most are not refused, because they gain nothing."""
    same: tuple[str, ...]
    """Tasks whose own reference is judged as a candidate: it is never faster than itself."""


@cache
def known() -> Table:
    return Table.model_validate(tomllib.loads(TABLE.read_text(encoding="utf-8")))


@cache
def known_task(name: str) -> Task:
    return load_task(TASKS / f"{name}.py")


def read_candidate(path: Path) -> Candidate:
    """The candidate in a file; a final `.txt` hides the file from tools that would parse it as Python."""
    name = Path(path.name.removesuffix(".txt"))
    source = path.read_text(encoding="utf-8")
    return Candidate(language=language_of(name, source).name, source=source)

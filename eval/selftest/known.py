"""Reads the table of kernels whose verdict is known."""

import re
import tomllib
from functools import cache
from pathlib import Path

from pydantic import Field

from eval.languages.registry import language_of
from eval.oracle.task import load_task
from eval.supervisor.settings import Guard
from kb.types.base import Frozen
from kb.types.evidence import Outcome
from kb.types.kernels import Candidate, Task

HERE = Path(__file__).parent
TABLE, WRONG, CORRECT, TASKS = HERE / "known.toml", HERE / "wrong", HERE / "correct", HERE / "tasks"

DEVICES = {"gpu": "Gpu", "triton": "TritonCompiler"}
"""Classes in eval.devices, by the folder of their kernels; those in no folder are for Cpu."""


class Known(Frozen):
    """A kernel and the verdict that it must get."""

    file: str
    """In `wrong` or `correct`. Its folder tells the device that judges it, see DEVICES."""
    task: str = "scale"
    """Name of the task that it is tried on, in `tasks`."""
    sizes: dict[str, int] = Field(default_factory=dict)
    """Sizes of the task instead of its own."""
    outcomes: tuple[Outcome, ...] = (Outcome.PASSED,)
    """The outcomes that it may have; several if it depends on chance which guard is first."""
    guard: Guard | None = None
    """The guard that catches it. None if no guard can be switched off, because it gives nothing to accept."""
    call_s: float | None = None
    """Time limit for a call; without the limit it is accepted."""
    timed: bool = False
    """Whether its verdict needs timing: a cheat is correct when it is checked and cheats when it is timed."""
    held_out: dict[str, int] | None = None
    """Sizes at which it is wrong, empty for those given with other values; without them it is accepted."""
    settle_s: float = 0.05
    """Time during which tests watch its outputs: longer than its delay, even on a loaded machine."""

    @property
    def device(self) -> str:
        """Name of the class in eval.devices that judges it."""
        return DEVICES.get(Path(self.file).parts[0], "Cpu")

    @property
    def path(self) -> Path:
        return (CORRECT if self.honest else WRONG) / self.file

    @property
    def honest(self) -> bool:
        return self.outcomes == (Outcome.PASSED,)

    @property
    def subject(self) -> Task:
        """Its task, at its sizes."""
        return known_task(self.task, **self.sizes)

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
def known_task(name: str, **sizes: int) -> Task:
    task = load_task(TASKS / f"{name}.py")
    source = task.source
    for size, value in sizes.items():
        source = re.sub(rf"^{size} = .*", f"{size} = {value}", source, flags=re.MULTILINE)
    return Task(name=task.name, source=source)


def read_candidate(path: Path) -> Candidate:
    """The candidate in a file; a final `.txt` hides the file from tools that would parse it as Python."""
    name = Path(path.name.removesuffix(".txt"))
    source = path.read_text(encoding="utf-8")
    return Candidate(language=language_of(name, source).name, source=source)

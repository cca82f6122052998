"""The baselines of a task: its reference, run eagerly and compiled, each timed in a worker like a candidate."""

import atexit
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from statistics import median
from typing import Any

from eval.cases import given_case
from eval.devices.side import Answer, Side
from eval.fault import Fault
from eval.languages.registry import TORCH
from eval.reference import Reference
from eval.worker.process import ALL_GUARDS, Guard
from eval.worker.trial import Trial
from kb.errors import JudgeError
from kb.model.kernels import Candidate, Task

EAGER, COMPILED = "eager", "torch.compile"
SOURCES: Mapping[str, str] = {
    EAGER: "ModelNew = Model",
    COMPILED: """
class ModelNew(Model):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.forward = torch.compile(super().forward, dynamic=False)
""",
}
"""What makes a candidate of a reference, by the name of the baseline."""
GUARDS = ALL_GUARDS - {Guard.ALIASING, Guard.MUTATION}
"""A reference is not suspected; it may return a part of its input."""
SETTINGS, CACHE = ("TORCHINDUCTOR_", "TORCHDYNAMO_"), "TORCHINDUCTOR_CACHE_DIR"
"""How the environment names settings of torch.compile, and the folder of what it has compiled."""
ALONE = {"TORCHINDUCTOR_COMPILE_THREADS": "1"}
"""Makes it compile without other processes."""
TRIES = 7
CLOSE = 1.25
"""Baselines within this factor of the fastest stay in the race, because a few quick calls are not exact."""


class Baselines:
    """Starts the baselines of a task on construction. Close it at the end.

    Attributes:
        case: One set of inputs at the task's sizes, with the expected outputs and the reference's own error.
        medians_us: For each baseline, a quick median of the time of one call.
        notes: Reasons why a baseline is missing.

    Raises:
        JudgeError: the eager reference cannot run in a worker.
    """

    def __init__(self, task: Task, reference: Reference, *, level: int, call_s: float) -> None:
        self.reference, self.case = reference, given_case("timed", reference)
        self.notes: list[str] = []
        self.medians_us: dict[str, float] = {}
        self._running = ExitStack()
        atexit.register(self.close)
        cache = os.environ.get(CACHE)
        environment = ALONE | {name: value for name, value in os.environ.items() if name.startswith(SETTINGS)}
        self._trials = {
            name: Trial(
                Candidate(language=TORCH.name, source=f"{task.source}\nimport torch\n{source}"),
                TORCH, level, call_s, GUARDS, environment, (cache,) if cache else (),
            )
            for name, source in SOURCES.items()
        }  # fmt: skip
        self.sides: dict[str, Side] = {}
        """The running baselines that are about as fast as the fastest."""
        for name in SOURCES:
            try:
                self.sides[name] = self._start(name)
                tries = [self.sides[name].timed(self.case.inputs) for _ in range(TRIES)]
            except Fault as fault:
                if name == EAGER:
                    raise _broken(fault) from fault
                self.sides.pop(name, None)
                self.notes.append(f"no {name} baseline: {fault.detail[:200]}")
            else:
                self.medians_us[name] = median(answer.call.inside_us for answer in tries)
        limit_us = CLOSE * min(self.medians_us.values())
        self.sides = {name: side for name, side in self.sides.items() if self.medians_us[name] <= limit_us}

    @property
    def best(self) -> str:
        return min(self.medians_us, key=lambda name: self.medians_us[name])

    def restart(self) -> None:
        """Start the baselines anew: a session in fresh processes shares no luck with the one before."""
        self._running.close()
        try:
            self.sides = {name: self._start(name) for name in self.sides}
        except Fault as fault:
            raise _broken(fault) from fault

    def timed(self, arguments: Sequence[Any]) -> dict[str, Answer]:
        """A timed call of each baseline that is still in the race, by name."""
        try:
            return {name: side.timed(arguments) for name, side in self.sides.items()}
        except Fault as fault:
            raise _broken(fault) from fault

    def close(self) -> None:
        """End all workers."""
        self._running.close()
        atexit.unregister(self.close)

    def _start(self, name: str) -> Side:
        return self._running.enter_context(Side(self._trials[name], self.reference, self.case))


def _broken(fault: Fault) -> JudgeError:
    return JudgeError(f"the reference fails in a worker: {fault.detail}", hint="it must run on this machine")

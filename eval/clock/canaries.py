"""Canaries: calls whose verdict is known, judged before the first times. If one is misjudged, nothing is judged."""

import time
from collections.abc import Callable, Sequence

import torch

from eval.clock.timed_worker import TimedWorker
from eval.clock.timing import CallTime, hidden_us, median_us
from eval.languages.registry import TORCH
from eval.oracle.cases import given_case
from eval.oracle.reference import Reference
from eval.supervisor.trial import Trial
from kb.errors import CanaryError
from kb.types.evidence import Outcome
from kb.types.kernels import Candidate, Task

SLEEP_US = 50.0
MEASURED_SHARE = 0.8
"""Share of the sleep that must be measured; a sleep never ends early, but times vary."""
ROUNDS, ATTEMPTS, PAUSE_S = 15, 3, 1.0
RIGHT, WRONG, NOTHING, SLEEPS = range(4)
TASK = Task(
    name="canary",
    source="""
import torch


class Model(torch.nn.Module):
    def forward(self, x, kind):
        return 2 * x + 1


def get_inputs():
    return [torch.randn(64, 64), torch.tensor(0)]


def get_init_inputs():
    return []
""",
)
CANARY = f"""
import time
{TASK.source}

class ModelNew(Model):
    def forward(self, x, kind):
        kind = int(kind)
        if kind == {NOTHING}:
            return torch.empty_like(x)
        y = super().forward(x, kind)
        if kind == {WRONG}:
            y[-1, -1] += 1
        if kind == {SLEEPS}:
            time.sleep({SLEEP_US}e-6)
        return y
"""
"""One candidate that is what its second input says, so that one worker is enough."""


class Canaries(TimedWorker):
    """A worker that serves as each of the canaries in turn.

    Args:
        trial_of: Makes a trial of a candidate in torch, with the settings of the device that judges.
        device: Where torch keeps the tensors.
    """

    def __init__(self, trial_of: Callable[[Candidate], Trial], device: str) -> None:
        reference = Reference(TASK, seed=0, device=device)
        case = given_case("canary", reference)
        super().__init__(trial_of(Candidate(language=TORCH.name, source=CANARY)), reference, case)

    def check(self) -> None:
        """Judge the canaries.

        Raises:
            CanaryError: a wrong canary passes, the right one does not, or the one that sleeps is not slower. Then no
                verdict of this judge counts.
        """
        for kind, what in ((RIGHT, "is right"), (WRONG, "has one wrong element"), (NOTHING, "computes nothing")):
            outcome = self._case.compare(self.call(self._inputs(kind)).outputs).outcome
            if (outcome is Outcome.PASSED) != (kind == RIGHT):
                raise _misjudged(f"a kernel that {what} is {outcome}")
        for attempt in range(ATTEMPTS):
            time.sleep(PAUSE_S * bool(attempt))
            slower_us = self._slower_us()
            if slower_us >= MEASURED_SHARE * SLEEP_US:
                return
        raise _misjudged(f"a kernel that sleeps {SLEEP_US:g} us is measured as {slower_us:.1f} us slower")

    def _inputs(self, kind: int) -> Sequence[torch.Tensor]:
        x = self._case.inputs[0]
        return [x, torch.tensor(kind, device=x.device)]

    def _slower_us(self) -> float:
        """How much longer a call that sleeps is than one that does not."""
        calls: dict[int, list[CallTime]] = {RIGHT: [], SLEEPS: []}
        for _ in range(ROUNDS):
            for kind, times in calls.items():
                times.append(self.time_call(self._inputs(kind)).time)
        right, sleeps = calls[RIGHT], calls[SLEEPS]
        return median_us(sleeps) + hidden_us(sleeps, right) - median_us(right)


def _misjudged(what: str) -> CanaryError:
    return CanaryError(
        f"the judge's own check fails on this machine: {what}",
        hint="nothing was judged; end other work and try again, and see `kb doctor` and `kb bench judge`",
    )

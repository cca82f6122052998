"""Canaries: calls whose verdict is known, judged before the first times. If one is misjudged, nothing is judged."""

import time
from collections.abc import Callable, Sequence
from statistics import median

import torch

from eval.cases import given_case
from eval.devices.side import Side
from eval.languages.registry import TORCH
from eval.reference import Reference
from eval.timing import Call, hidden_us
from eval.worker.trial import Trial
from kb.errors import JudgeError
from kb.model.evidence import Outcome
from kb.model.kernels import Candidate, Task

SLEEP_US = 50.0
SEEN = 0.8
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


def check_canaries(trial_of: Callable[[Candidate], Trial], device: str) -> None:
    """Judge the canaries.

    Args:
        trial_of: Makes a trial of a candidate in torch, with the settings of the device that judges.
        device: Where torch keeps the tensors.

    Raises:
        JudgeError: a wrong canary passes, the right one does not, or the one that sleeps is not slower. Then no verdict
            of this judge counts.
    """
    reference = Reference(TASK, seed=0, device=device)
    case = given_case("canary", reference)
    x = case.inputs[0]
    trial = trial_of(Candidate(language=TORCH.name, source=CANARY))
    with Side(trial, reference, case) as side:
        for kind, what in ((RIGHT, "is right"), (WRONG, "has one wrong element"), (NOTHING, "computes nothing")):
            outcome = case.compare(side.call(_arguments(x, kind)).outputs).outcome
            if (outcome is Outcome.PASSED) != (kind == RIGHT):
                raise _misjudged(f"a kernel that {what} is {outcome}")
        for attempt in range(ATTEMPTS):
            time.sleep(PAUSE_S * bool(attempt))
            slower_us = _slower_us(side, x)
            if slower_us >= SEEN * SLEEP_US:
                return
    raise _misjudged(f"a kernel that sleeps {SLEEP_US:g} us is measured as {slower_us:.1f} us slower")


def _arguments(x: torch.Tensor, kind: int) -> Sequence[torch.Tensor]:
    return [x, torch.tensor(kind, device=x.device)]


def _slower_us(side: Side, x: torch.Tensor) -> float:
    """How much longer a call that sleeps is than one that does not."""
    calls: dict[int, list[Call]] = {RIGHT: [], SLEEPS: []}
    for _ in range(ROUNDS):
        for kind, found in calls.items():
            found.append(side.timed(_arguments(x, kind)).call)
    lasts_us = {kind: median(call.inside_us for call in found) for kind, found in calls.items()}
    return lasts_us[SLEEPS] + hidden_us(calls[SLEEPS], calls[RIGHT]) - lasts_us[RIGHT]


def _misjudged(what: str) -> JudgeError:
    return JudgeError(
        f"the judge's own check fails on this machine: {what}",
        hint="nothing was judged; end other work and try again, and see `kb doctor` and `kb bench judge`",
    )

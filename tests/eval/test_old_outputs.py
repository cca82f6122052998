"""No candidate finds in the memory of an output what it wrote there in an earlier call, so it must write all of it."""

import pytest

from eval.clock.timed_worker import TimedWorker
from eval.languages.registry import TORCH
from eval.machine import sandbox_level
from eval.supervisor.memory import HostMemory
from eval.supervisor.settings import ALL_GUARDS, Guard
from eval.supervisor.trial import Trial
from kb.types.kernels import Candidate
from tests.eval.judging import PATIENCE_S, given_case, needs_linux

pytestmark = needs_linux
CALLS = HostMemory().slots  # each is timed after another, so that twice as many follow
LOOKS_FOR_ZEROS = f"""
import torch

class ModelNew(torch.nn.Module):
    def __init__(self, *_):
        super().__init__()
        self.given = []

    def forward(self, x):
        if len(self.given) < {CALLS}:
            y = torch.zeros(len(x), len(x))
        else:
            y = self.given.pop(0)
            zeros = torch.equal(y, y.diag().diag())
            y.zero_()
            y[0, 1] = 5 * zeros  # tells that it need not have written the others
        self.given.append(y)
        y.diagonal().copy_(x)
        return y
"""
"""It gives the memory of earlier outputs again, in turn, so that no allocator decides which it finds there."""


@pytest.mark.parametrize("guards", [ALL_GUARDS, ALL_GUARDS - {Guard.OVERWRITING}], ids=["overwritten", "kept"])
def test_outputs_are_overwritten_before_their_memory_is_used_again(guards: frozenset[Guard]) -> None:
    case = given_case("diagonal")
    candidate = Candidate(language="torch", source=LOOKS_FOR_ZEROS)
    trial = Trial(candidate, language=TORCH, level=sandbox_level(), call_s=PATIENCE_S, guards=guards)
    right = []

    with TimedWorker(trial, case.reference, case) as worker:
        for seed in range(CALLS):
            inputs = case.reference.inputs(seed)
            right.append(case.near(worker.time_call(inputs).outputs, case.reference.native(inputs)))
        batch = [case.reference.inputs(seed) for seed in range(worker.slots)]
        for inputs, outputs in zip(batch, worker.time_batch(batch).outputs, strict=True):
            right.append(case.near(outputs, case.reference.native(inputs)))

    assert all(right) is (Guard.OVERWRITING in guards)

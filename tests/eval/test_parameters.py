"""A candidate may hold the reference's parameters in another form, but not write to those that it was given."""

from dataclasses import replace
from pathlib import Path

import pytest

from eval.languages.registry import TORCH
from eval.selftest.known import WRONG
from eval.supervisor.device_memory import DeviceMemory
from kb.types.evidence import CaseResult, Outcome
from tests.eval import fake_late_gpu
from tests.eval.fake_gpu import FakeDriver
from tests.eval.judging import given_case, judge, needs_linux
from tests.eval.test_device_memory import outcome_of, trial_of

pytestmark = needs_linux

MODEL = """
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, cols, out, scale):
        super().__init__()
        self.weight, self.bias = (torch.nn.Parameter(torch.empty(shape)) for shape in ((out, cols), (out,)))
        self.scale, self.calls = scale, 0
{more}
    def forward(self, x):
        self.calls += 1
{first}
        return torch.relu(x @ self.weight.T + self.bias){scaled}
"""
SCALED = {"scaled": " * self.scale"}
LOADED = """
    def load_state_dict(self, state, *given):
        super().load_state_dict(state, *given)
        self.weight *= self.scale
        self.bias *= self.scale
"""
TAKEN = """
    def load_reference(self, state):
        self.weight, self.bias = (torch.nn.Parameter(state[name].mul_(self.scale)) for name in ("weight", "bias"))
"""
REPLACED = """
        if self.calls == 1:
            self.weight.data, self.bias.data = self.weight * self.scale, self.bias * self.scale
"""
WRITTEN = """
        given, self.weight = self.weight, torch.nn.Parameter(self.weight.clone())
        given.zero_()
"""
FORMS: dict[str, tuple[dict[str, str], Outcome]] = {
    "as they are": (SCALED, Outcome.PASSED),
    "scaled when they are loaded": ({"more": LOADED}, Outcome.PASSED),
    "scaled where they were given": ({"more": TAKEN}, Outcome.PASSED),
    "replaced in the first call": ({"first": REPLACED}, Outcome.PASSED),
    "in float64": (
        {"more": "        self.double()", "first": "        x = x.double()", "scaled": ".mul(self.scale).float()"},
        Outcome.PASSED,
    ),
    "written to in place": ({"first": WRITTEN, **SCALED}, Outcome.MUTATED_INPUT),
}


@pytest.mark.parametrize(("parts", "outcome"), FORMS.values(), ids=FORMS)
def test_parameters_may_have_another_form_and_are_not_written_to(
    parts: dict[str, str], outcome: Outcome, tmp_path: Path
) -> None:
    path = tmp_path / "candidate.py"
    path.write_text(MODEL.format(**{"more": "", "first": "", "scaled": ""} | parts))

    assert judge(path, "linear").outcome is outcome


KEEPS = """
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, cols, out, scale):
        super().__init__()
        self.scale = scale

    def load_reference(self, state):
        self.given = state

    def forward(self, x):
        return torch.relu(x @ self.given["weight"].T + self.given["bias"]) * self.scale
"""


def test_a_gpu_that_is_busy_with_other_work_copies_the_parameters_before_inputs_take_their_place() -> None:
    late = TORCH.model_copy(update={"adapter": Path(fake_late_gpu.__file__)})
    trial = replace(trial_of(KEEPS, DeviceMemory(FakeDriver())), language=late)  # type: ignore[arg-type]
    results: list[CaseResult] = []

    trial.check([given_case("linear")], results)

    assert [result.outcome for result in results] == [Outcome.PASSED]


def test_parameters_on_a_gpu_are_not_written_to() -> None:
    source = (WRONG / "writes_to_parameters.py").read_text(encoding="utf-8")

    assert outcome_of(source, DeviceMemory(FakeDriver()), "linear") is Outcome.MUTATED_INPUT  # type: ignore[arg-type]

"""A candidate may hold the reference's parameters in another form, but not write to those that it was given."""

from dataclasses import replace
from pathlib import Path

import pytest

from eval.languages.registry import TORCH
from eval.oracle.cases import make_case
from eval.oracle.reference import Reference, tensor_bytes
from eval.selftest.known import WRONG
from eval.supervisor.device_memory import DeviceMemory
from kb.types.evidence import CaseResult, Outcome
from tests.eval import fake_late_gpu
from tests.eval.fake_gpu import FakeDriver
from tests.eval.judging import given_case, judge, needs_linux, task
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
HOOKED = """
        self._register_load_state_dict_pre_hook(self.scaled)

    def scaled(self, state, *_):
        for given in state.values():
            given.mul_(self.scale)
"""
KEPT = """
    def _load_from_state_dict(self, state, *_):
        self.given = {name: x for name, x in state.items()}
"""
FORMS: dict[str, tuple[dict[str, str], Outcome]] = {
    "as they are": (SCALED, Outcome.PASSED),
    "scaled when they are loaded": ({"more": LOADED}, Outcome.PASSED),
    "scaled where they were given": ({"more": TAKEN}, Outcome.PASSED),
    "scaled where they were given, by a hook": ({"more": HOOKED}, Outcome.PASSED),
    "kept as they were given": (
        {
            "more": KEPT,
            "first": "        self.weight, self.bias = map(torch.nn.Parameter, self.given.values())",
            **SCALED,
        },
        Outcome.PASSED,
    ),
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


MEASURED = """
import resource
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, cols, out, scale):
        super().__init__()
        self.weight, self.bias = (torch.nn.Parameter(torch.empty(shape)) for shape in ((out, cols), (out,)))
        self.scale = scale

    def forward(self, x):
        print("KB", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        return torch.relu(torch.nn.functional.linear(x, self.weight, self.bias)) * self.scale
"""


def test_a_worker_holds_large_parameters_once_beside_those_that_it_is_given() -> None:
    peaks, sizes = [], []
    for rows in (40, 1 << 13):
        found = Reference(task("linear"), seed=1, sizes={"COLS": 1 << 12, "OUT": rows})
        trial = trial_of(MEASURED, DeviceMemory(FakeDriver()))  # type: ignore[arg-type]
        log = trial.check([make_case("its parameters", found, found.inputs(2))], [])
        peaks.append(max(int(line.split()[1]) << 10 for line in log.splitlines() if line.startswith("KB")))
        sizes.append(tensor_bytes(list(found.state.values())))

    assert peaks[1] - peaks[0] < 2.4 * (sizes[1] - sizes[0])


def test_parameters_on_a_gpu_are_not_written_to() -> None:
    source = (WRONG / "writes_to_parameters.py").read_text(encoding="utf-8")

    assert outcome_of(source, DeviceMemory(FakeDriver()), "linear") is Outcome.MUTATED_INPUT  # type: ignore[arg-type]

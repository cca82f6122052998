"""A kernel as a file runs without kb, on what it was judged for; the reference answers all else."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch  # noqa: TID253 - the file computes with it

from eval.oracle.reference import interface_of
from kb.exports.kernel_file import kernel_file
from kb.types.evidence import OWN_SIZES
from kb.types.kernels import Candidate, Task
from tests.eval.judging import needs_compiler
from tests.synth.samples import evidence

TASK = Task(
    name="scale",
    source='''
import torch

ROWS, COLUMNS = 8, 6


class Model(torch.nn.Module):
    """Says "hello\\n" and costs $5."""

    def __init__(self, factor):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(1.0, COLUMNS + 1))
        self.factor = factor

    def forward(self, x):
        return x * self.weight * self.factor


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return [2.0]
''',
)
IN_CPP = """\
#include "kb_tensor.h"
void model_new(const Tensor *in, const Tensor *state, const double *init, Tensor *out) {
    const float *x = (const float *)in[0].data, *w = (const float *)state[0].data;
    for (int64_t i = 0; i < in[0].count; i++) ((float *)out[0].data)[i] = x[i] * w[i % state[0].count] * init[0] + 1;
}
"""
IN_TORCH = """\
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(6))
        self.factor = factor

    def forward(self, x):
        return x * self.weight * self.factor + 1
"""
CANDIDATES = [
    pytest.param(Candidate(language="cpp", source=IN_CPP), marks=needs_compiler, id="cpp"),
    pytest.param(Candidate(language="torch", source=IN_TORCH), id="torch"),
]
"""They give one more than the reference, which shows who answers."""


def written(candidate: Candidate, folder: Path, *, detail: str = "") -> Path:
    found = evidence(candidate, speedup=1.5, detail=detail)
    path = folder / "kernel.py"
    path.write_text(kernel_file(TASK, candidate, found, interface_of(TASK)), encoding="utf-8")
    return path


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("a_kernel", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def answers(module: ModuleType, model: torch.nn.Module, x: torch.Tensor) -> str:
    """Who answers, the kernel or the reference."""
    found, plain = model(x), x * torch.arange(1.0, 7) * 2.0
    if torch.allclose(found, plain.to(found.dtype)):
        return "reference"
    assert torch.allclose(found, plain + 1)
    return "kernel"


@pytest.mark.parametrize("candidate", CANDIDATES)
def test_the_kernel_answers_where_it_was_judged_and_the_reference_elsewhere(
    candidate: Candidate, tmp_path: Path
) -> None:
    module = loaded(written(candidate, tmp_path))
    model = module.Model(*module.get_init_inputs())

    assert answers(module, model, torch.randn(8, 6)) == "kernel"
    assert answers(module, model, torch.randn(3, 6)) == "kernel"
    assert answers(module, model, torch.randn(8, 6).double()) == "reference"
    assert answers(module, model, torch.randn(6, 8).t()) == "reference"
    assert answers(module, model, torch.randn(2, 8, 6)) == "reference"
    assert answers(module, model, torch.randn(8, 6, requires_grad=True)) == "reference"
    assert list(model.state_dict()) == ["weight"]


@pytest.mark.parametrize("candidate", CANDIDATES)
def test_a_kernel_that_was_tried_at_its_own_sizes_only_answers_only_there(candidate: Candidate, tmp_path: Path) -> None:
    module = loaded(written(candidate, tmp_path, detail=f"{OWN_SIZES}: its file gives no name to a size"))
    model = module.Model(2.0)

    assert answers(module, model, torch.randn(8, 6)) == "kernel"
    assert answers(module, model, torch.randn(3, 6)) == "reference"


@pytest.mark.parametrize("candidate", CANDIDATES)
def test_loaded_parameters_reach_the_kernel(candidate: Candidate, tmp_path: Path) -> None:
    model = loaded(written(candidate, tmp_path)).Model(2.0)
    x = torch.randn(8, 6)
    model(x)

    model.load_state_dict({"weight": torch.zeros(6)})

    assert torch.equal(model(x), torch.ones(8, 6))


def test_it_runs_without_kb(tmp_path: Path) -> None:
    path = written(Candidate(language="torch", source=IN_TORCH), tmp_path)
    code = "import kernel; m = kernel.Model(2.0); print(m(*kernel.get_inputs()).shape, 'kb' in sys.modules)"

    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert done.stdout == "torch.Size([8, 6]) False\n"
    assert path.read_text().startswith('"""A kernel for the task `scale`.\n\nkb judged it for cpu-x86 on ')


def test_a_language_that_needs_more_than_torch_has_no_such_file() -> None:
    other = Candidate(language="tt-lang", source="x")

    assert kernel_file(TASK, other, evidence(other), interface_of(TASK)) == ""

"""A task's reference runs at any sizes, with random parameters, and a broken one gives a clear error."""

import re

import pytest
import torch  # noqa: TID253 - what is tested computes with it

from eval.oracle import reference
from eval.oracle.cases import given_case
from eval.oracle.constants import integer_constants
from eval.oracle.operations import measure_work
from eval.oracle.reference import Reference, interface_of, tensor_bytes
from eval.oracle.reference import _spec as spec_of
from eval.oracle.task import load_task
from eval.selftest.known import TASKS
from kb.errors import TaskError
from kb.types.kernels import Precision, Task

GOOD = """
import torch
from torch import nn

N = 8

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.drawn = nn.Parameter(torch.randn(width))
        self.register_buffer("steps", torch.zeros(3, dtype=torch.int64))

    def forward(self, x):
        return x * self.weight + self.bias

def get_inputs():
    return [torch.randn(2, N)]

def get_init_inputs():
    return [N]
"""


def task() -> Task:
    return Task(name="small", source=GOOD)


def change(old: str, new: str) -> Task:
    assert old in GOOD
    return Task(name="small", source=GOOD.replace(old, new))


def test_constant_parameters_get_noise_and_the_others_are_kept() -> None:
    reference = Reference(task(), seed=3)

    assert reference.state["weight"].std() > 0.1
    assert reference.state["bias"].std() > 0.1
    torch.manual_seed(3)
    assert torch.equal(reference.state["drawn"], torch.randn(8))
    assert torch.equal(reference.state["steps"], torch.zeros(3, dtype=torch.int64))


def test_a_constant_number_or_buffer_gets_noise_and_keeps_its_sign_if_it_is_positive() -> None:
    made = 'self.register_buffer("steps", torch.ones(3))\n        self.slope = nn.Parameter(torch.tensor(0.25))'
    subject = change('self.register_buffer("steps", torch.zeros(3, dtype=torch.int64))', made)

    states = [Reference(subject, seed=seed).state for seed in range(9)]

    for name in ("steps", "slope"):
        values = torch.stack([state[name] for state in states])
        assert bool((values > 0).all())
        assert values.std() > 0.05


def test_the_seed_determines_the_reference_and_the_inputs() -> None:
    one, same, other = (Reference(task(), seed=seed) for seed in (1, 1, 2))

    assert all(torch.equal(one.state[name], same.state[name]) for name in one.state)
    assert not torch.equal(one.state["bias"], other.state["bias"])
    assert torch.equal(one.inputs(5)[0], same.inputs(5)[0])
    assert not torch.equal(one.inputs(5)[0], one.inputs(6)[0])


def test_sizes_change_the_whole_task() -> None:
    reference = Reference(task(), seed=0, sizes={"N": 5})

    assert reference.inputs(0)[0].shape == (2, 5)
    assert reference.state["weight"].shape == (5,)
    assert reference.numbers == (5.0,)


def test_the_oracle_computes_in_float64_and_does_not_change_the_model() -> None:
    reference = Reference(task(), seed=0)
    inputs = reference.inputs(0)

    [exact], [native] = reference.oracle(inputs), reference.native(inputs)

    assert (exact.dtype, native.dtype) == (torch.float64, torch.float32)
    assert torch.allclose(exact, native.double(), atol=1e-6)
    assert reference.state["weight"].dtype == inputs[0].dtype == torch.float32


def test_parameters_are_held_in_their_own_precision_once_while_the_oracle_computes() -> None:
    linear = Reference(load_task(TASKS / "linear.py"), seed=1, sizes={"COLS": 256, "OUT": 512})
    state, inputs = list(linear.state.values()), linear.inputs(2)

    _, work = measure_work(lambda: linear.oracle(inputs), [*state, *inputs])

    assert work.working_bytes < 2.2 * tensor_bytes(state)


@pytest.mark.parametrize("shape", [(), (7,), (5, 8), (0,)])
def test_a_nudge_changes_each_value_by_half_to_one_and_a_half_times_its_size(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eval.oracle.blocks.BLOCK", 3)
    x = torch.rand(shape, dtype=torch.float64) + 0.1

    def perturb(x: torch.Tensor) -> torch.Tensor:
        generator = torch.Generator().manual_seed(1)
        return reference._perturb(x.clone(), generator=generator, by=reference.PERTURBATION)

    perturbed = perturb(x)

    change = (perturbed / x - 1) / reference.PERTURBATION
    assert ((change.abs() > 0.499) & (change.abs() < 1.501)).all()
    assert perturb(x.round()).equal(x.round())


@pytest.mark.parametrize("path", sorted(TASKS.glob("*.py")), ids=lambda p: p.stem)
def test_the_interface_inferred_without_computing_equals_the_computed_one(path) -> None:
    reference = Reference(load_task(path), seed=0)

    told, computed = interface_of(load_task(path)), reference.interface()

    assert told == computed
    inputs = reference.inputs(0)
    outputs = reference.native(inputs)
    assert [spec.shape for spec in told.outputs] == [tuple(t.shape) for t in outputs]
    assert [f"torch.{spec.dtype}" for spec in told.outputs] == [str(t.dtype) for t in outputs]


@pytest.mark.parametrize(
    ("forward", "precision", "in_tf32"),
    [
        ("torch.nn.functional.conv1d(x[:, None], self.weight[None, None, :3])", Precision.DEFAULT, True),
        ("torch.nn.functional.conv1d(x[:, None], self.weight[None, None, :3])", Precision.IEEE, False),
        ("x @ x.T", Precision.DEFAULT, False),
    ],
)
def test_convolutions_may_be_in_tf32_where_the_precision_allows_it(
    forward: str, precision: Precision, in_tf32: bool
) -> None:
    source = GOOD.replace("x * self.weight + self.bias", forward)
    task = Task(name="good", source=source, precision=precision)

    assert Reference(task, seed=0).interface().in_tf32 is in_tf32


def test_the_interface_lists_inputs_state_and_numbers() -> None:
    interface = Reference(task(), seed=0).interface()

    assert [str(spec) for spec in interface.inputs] == ["x: float32[2, 8]"]
    assert [str(spec) for spec in interface.state] == [
        "weight: float32[8]", "bias: float32[8]", "drawn: float32[8]", "steps: int64[3]",
    ]  # fmt: skip
    assert interface.init == (8.0,)


def test_shapes_that_depend_on_values_are_found_by_computing() -> None:
    depends = change("x * self.weight + self.bias", "x[x > 0].sum()")

    assert interface_of(depends).outputs[0].shape == ()


CONSTANTS = {
    "A = 4": {"A": 4},
    "A = 4 * 1024": {"A": 4096},
    "A = 2 * 3 * 5": {"A": 30},
    "A = (4, 8)": {"A[0]": 4, "A[1]": 8},
    "A: int = 4": {},
    "A = 4.0": {},
    "A = True": {},
    "A = 'four'": {},
    "A = B = 4": {"A": 4},
    "A, B = 4, 8": {"A": 4, "B": 8},
    "A, B = 4, 8.0": {"A": 4},
    "A, B = sizes": {},
    "A, *B = 4, 8": {},
    "def f():\n    A = 4": {},
}


@pytest.mark.parametrize(("source", "sizes"), CONSTANTS.items())
def test_sizes_are_integers_assigned_at_the_top(source: str, sizes: dict[str, int]) -> None:
    assert integer_constants(Task(name="small", source=source)) == sizes


BROKEN = {
    "loading raises": ("N = 8", "N = 8 / 0", "fails in its file.*ZeroDivisionError"),
    "an import is missing": ("import torch\n", "import torch\nimport no_such_module\n", "fails in its file.*no_such"),
    "get_inputs raises": ("return [torch.randn(2, N)]", "raise KeyError('x')", r"get_inputs\(\).*KeyError"),
    "get_inputs gives nothing": ("return [torch.randn(2, N)]", "pass", r"get_inputs\(\)"),
    "get_inputs gives a dictionary of tensors": ("[torch.randn(2, N)]", "[{'x': torch.randn(2)}]", r"get_inputs\(\)"),
    "get_inputs gives a list of tensors": ("[torch.randn(2, N)]", "[[torch.randn(2, N)]]", r"get_inputs\(\)"),
    "get_init_inputs raises": ("return [N]", "raise OSError('gone')", r"get_init_inputs\(\).*OSError"),
    "get_init_inputs gives a tensor": ("return [N]", "return [torch.ones(2)]", r"get_init_inputs\(\)"),
    "get_init_inputs gives a function": ("return [N]", "return [len]", r"get_init_inputs\(\)"),
    "Model raises": ("super().__init__()", "super().__init__(); raise ValueError(width)", r"Model\(.*ValueError"),
    "Model takes other arguments": ("return [N]", "return [N, N]", r"Model\(.*TypeError"),
    "forward raises": ("return x * self.weight", "raise ValueError('no'); return x", r"forward\(\).*ValueError: no"),
    "forward takes other arguments": ("def forward(self, x)", "def forward(self, x, y)", r"forward\(\).*TypeError"),
    "forward gives no tensor": ("x * self.weight + self.bias", "'four'", r"forward\(\).*str"),
    "forward gives a dictionary": ("x * self.weight + self.bias", "{'y': x}", r"forward\(\).*dict"),
    "forward gives complex numbers": ("x * self.weight + self.bias", "x + 1j", r"forward\(\).*complex"),
    "forward accepts only float32": (
        "return x * self.weight", "assert x.dtype is torch.float32; return x * self.weight", "float64.*AssertionError",
    ),
}  # fmt: skip


def test_a_type_whose_size_is_unknown_is_refused() -> None:
    packed = torch.zeros(2, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)

    with pytest.raises(TaskError, match="x is a tensor of type float4_e2m1fn_x2"):
        spec_of("x", packed)


@pytest.mark.parametrize(("old", "new", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_reference_is_one_clear_error(old: str, new: str, message: str) -> None:
    broken = change(old, new)

    with pytest.raises(TaskError, match=re.compile(message, re.S)) as caught:
        given_case("given", Reference(broken, seed=0))

    assert "small" in caught.value.message
    assert caught.value.hint

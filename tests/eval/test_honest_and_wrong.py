"""What an honest kernel may do on ties, edges and infinities, and what a wrong one may not."""

from collections.abc import Callable

import pytest
import torch  # noqa: TID253 - what is tested computes with it

from eval.oracle.cases import draw_case, draw_cases, given_case
from eval.oracle.reference import Reference
from eval.oracle.sizes import smaller_sizes
from eval.oracle.values import EDGES, learn_structures
from kb.errors import TaskError
from kb.types.evidence import Outcome
from kb.types.kernels import Task

FILE = """
import torch

N = 64


class Model(torch.nn.Module):
    def forward(self, {names}):
        return {result}


def get_inputs():
    return [{drawn}]


def get_init_inputs():
    return []
"""
PAIR = "torch.randn(N, N), torch.randn(N, N)"
ANY, UNIT = "torch.randn(N, N)", "torch.rand(N, N)"
Kernel = Callable[..., object]


def task_of(names: str, result: str, drawn: str) -> Task:
    return Task(name="small", source=FILE.format(names=names, result=result, drawn=drawn))


def passes(task: Task, kernel: Kernel) -> bool:
    """Whether a kernel is right in all cases at the task's own sizes."""
    reference = Reference(task, seed=0)
    found = []
    for case in draw_cases(reference, learn_structures(reference)):
        outputs = kernel(*case.inputs)
        found.append(case.compare(outputs if isinstance(outputs, tuple) else (outputs,)).outcome is Outcome.PASSED)
    assert len(found) > 2
    return all(found)


def exact_log_softmax(x: torch.Tensor) -> torch.Tensor:
    below = x.double() - x.amax(-1, keepdim=True)
    others = below.exp().scatter(-1, x.argmax(-1, keepdim=True), 0.0).sum(-1, keepdim=True)
    return (below - torch.log1p(others)).to(x)


HONEST: dict[str, tuple[str, str, str, Kernel]] = {
    "the edge of a domain": ("x", "torch.acos(x)", "torch.rand(N, N) * 2 - 1", torch.acos),
    "a logarithm of what may be zero": ("x", "-torch.log(1 - x)", UNIT, lambda x: -torch.log(1 - x)),
    "division by what may be zero": ("x, y", "x / y", PAIR, lambda x, y: x * (1 / y)),
    "another of equal values": ("x", "x.argmax(-1)", f"{ANY}.bfloat16()", lambda x: 63 - x.flip(-1).argmax(-1)),
    "a choice by the logits": (
        "x",
        "torch.topk(x.softmax(-1), 4)",
        f"9 * {ANY}",
        lambda x: (x.softmax(-1).gather(-1, torch.topk(x, 4)[1]), torch.topk(x, 4)[1]),
    ),
    "logarithms that float64 loses": (
        "x",
        "x.log_softmax(-1)",
        f"42 * torch.eye(N) + {UNIT}",
        lambda x: exact_log_softmax(x),
    ),
    "an 8-bit result": ("x", "(x * 2).to(torch.float8_e5m2)", ANY, lambda x: (x + x).to(torch.float8_e5m2)),
    "each step in bfloat16, as in the reference": (
        "x",
        "x * 0.5 * (1 + torch.erf(x / 2**0.5))",
        f"{ANY}.bfloat16()",
        lambda x: 0.5 * (x * (1 + torch.erf(x * 0.5**0.5))),
    ),
    "a power by logarithms": (
        "x, y",
        "x ** y",
        f"{UNIT}, {UNIT} + 0.5",
        lambda x, y: torch.exp(y * torch.log(x)),
    ),
    "lengths that are read": (
        "x, n",
        "x.masked_fill(torch.arange(N) >= n[:, None], 0).sum(-1)",
        f"{ANY}, torch.full((N,), N)",
        lambda x, n: (x * (torch.arange(64) < n[:, None])).sum(-1),
    ),
    "a mask that is read": (
        "x, mask",
        "x.masked_fill(mask, -torch.inf).softmax(-1)",
        f"{ANY}, torch.ones(N, N, dtype=torch.bool).triu(1)",
        lambda x, mask: torch.where(mask, -torch.inf, x).softmax(-1),
    ),
    "sizes that are an input": (
        "x, n",
        "x.repeat_interleave(n, 0)",
        f"{ANY}, torch.full((N,), 3)",
        lambda x, n: x[:, None].expand(64, 3, 64).reshape(192, 64),
    ),
    "a constant in float64, as in C++": ("x", "x * (x > 0.1)", ANY, lambda x: x * (x.double() > 0.1)),
    "a constant in the inputs' type": ("x", "x * (x > 0.1)", ANY, lambda x: x * (x > torch.tensor(0.1))),
    "a constant in float32 for float16": (
        "x",
        "(x * (x >= 0.1)).sum(-1)",
        f"{ANY}.half()",
        lambda x: (x * (x.float() >= 0.1)).sum(-1),
    ),
    "steps of a constant": ("x", "torch.floor(x / 0.25)", ANY, lambda x: torch.floor(4 * x)),
    "a step in bfloat16": ("x", "x.softmax(-1)", f"{ANY}.bfloat16()", lambda x: x.float().softmax(-1).bfloat16()),
}
WRONG: dict[str, tuple[str, str, str, Kernel]] = {
    "lengths that are always the same": (
        "x, n",
        "x.masked_fill(torch.arange(N) >= n[:, None], 0).sum(-1)",
        f"{ANY}, torch.full((N,), N)",
        lambda x, n: x.sum(-1),
    ),
    "a mask of ones": (
        "x, mask",
        "x.masked_fill(~mask, -torch.inf).softmax(-1)",
        f"{ANY}, torch.ones(N, dtype=torch.bool)",
        lambda x, mask: x.softmax(-1),
    ),
    "a causal mask": (
        "x, mask",
        "x.masked_fill(mask, -torch.inf).softmax(-1)",
        f"{ANY}, torch.ones(N, N, dtype=torch.bool).triu(1)",
        lambda x, mask: x.masked_fill(torch.ones_like(x, dtype=torch.bool).triu(1), -torch.inf).softmax(-1),
    ),
    "a causal mask that is added": (
        "x, mask",
        "(x + mask).softmax(-1)",
        f"{ANY}, torch.full((N, N), -torch.inf).triu(1)",
        lambda x, mask: (x + torch.full_like(x, -torch.inf).triu(1)).softmax(-1),
    ),
    "one index": ("x, i", "x.gather(1, i)", f"{ANY}, torch.full((N, 2), 5)", lambda x, i: x[:, [5, 5]]),
    "zero taken for positive": ("x, y", "y * (x > 0)", PAIR, lambda x, y: y * (x >= 0)),
    "a tie decided the other way": ("x, y", "(x >= y).float() * x", PAIR, lambda x, y: (x > y).float() * x),
    "a constant of the file on the wrong side": ("x", "x * (x > 0.5)", UNIT, lambda x: x * (x >= 0.5)),
    "a rounded constant on the wrong side": ("x", "x * (x >= 0.3)", UNIT, lambda x: x * (x > 0.3)),
    "a constant that is computed": ("x", "x * (x.abs() >= 0.1 + 0.2)", ANY, lambda x: x * (x.abs() > 0.3)),
    "a constant beside one of which either side is right": (
        "x",
        "torch.where(x > 0.1, x, (x >= -0.25).float())",
        ANY,
        lambda x: torch.where(x > 0.1, x, (x > -0.25).float()),
    ),
    "a number that is an argument": ("x, t", "x * (x > t)", f"{ANY}, 3 / 8", lambda x, t: x * (x >= t)),
    "an integer that is computed": (
        "x",
        "(x > 70 // 2).int()",
        "torch.randint(0, 99, (N, N))",
        lambda x: (x >= 35).int(),
    ),
    "how many are above a constant": ("x", "(x >= 0.3).sum(-1)", ANY, lambda x: (x > 0.3).sum(-1)),
    "the threshold of a module": (
        "x",
        "torch.nn.Threshold(0.7, 20.0)(x)",
        ANY,
        lambda x: torch.where(x >= 0.7, x, 20.0),
    ),
    "a threshold by default": (
        "x",
        "torch.nn.functional.hardshrink(x)",
        ANY,
        lambda x: torch.where(x.abs() >= 0.5, x, 0.0),
    ),
    "the open ends of a clamp": (
        "x",
        "x * ((x > -1) & (x < 1))",
        ANY,
        lambda x: x * ((x >= -1) & (x <= 1)),
    ),
    "integers that are equal": (
        "x, y",
        "(x >= y).int()",
        "torch.randint(0, 1 << 30, (N, N)), torch.randint(0, 1 << 30, (N, N))",
        lambda x, y: (x > y).int(),
    ),
    "a number for an infinity": ("x", "1 / x", ANY, lambda x: (1 / x).clamp(-1e30, 1e30)),
    "a shared error of 1 %": (
        "x",
        "x.softmax(-1)",
        f"{ANY}.bfloat16()",
        lambda x: (x.float().softmax(-1) * 1.01).bfloat16(),
    ),
    "each step in bfloat16, where torch takes float32": (
        "x",
        "torch.nn.functional.gelu(x)",
        f"{ANY}.bfloat16()",
        lambda x: x * 0.5 * (1 + torch.erf(x * 0.5**0.5)),
    ),
    "NaN for the power 0 of 0": ("x, y", "x ** y", f"{UNIT}, {UNIT}", lambda x, y: torch.exp(y * torch.log(x))),
    "an index twice": ("x", "x.sort(-1)[1]", ANY, lambda x: x.sort(-1)[1][:, :1].expand(64, 64)),
}


@pytest.mark.parametrize(("names", "result", "drawn", "kernel"), HONEST.values(), ids=HONEST)
def test_an_honest_kernel_passes(names: str, result: str, drawn: str, kernel: Kernel) -> None:
    assert passes(task_of(names, result, drawn), kernel)


@pytest.mark.parametrize(("names", "result", "drawn", "kernel"), WRONG.values(), ids=WRONG)
def test_a_wrong_kernel_fails(names: str, result: str, drawn: str, kernel: Kernel) -> None:
    assert not passes(task_of(names, result, drawn), kernel)


@pytest.mark.parametrize("border", [0.1, 0.5])
def test_an_output_whose_size_depends_on_roundings_has_no_case_at_edges(border: float) -> None:
    reference = Reference(task_of("x", f"x[x >= {border}]", ANY), seed=0)

    assert draw_case(reference, learn_structures(reference), [EDGES], seed=0) is None


def test_equal_infinities_of_a_timed_call_agree_and_a_large_number_is_none() -> None:
    case = given_case("given", Reference(task_of("x", "1 / x", ANY), seed=0))
    native = case.expected[0].float()
    native[0, 0] = torch.inf
    finite = native.clone()
    finite[0, 0] = 1e38

    assert case.near([native.clone()], native)
    assert not case.near([finite], native)


def test_a_timed_call_may_keep_a_small_number_that_the_reference_loses_in_its_own_precision() -> None:
    wide = f"({ANY} * torch.exp2(torch.randint(-10, 11, (N, N)).float())).bfloat16()"
    for seed in range(5):
        case = given_case("given", Reference(task_of("x", "x.log_softmax(-1)", wide), seed=seed))
        native = case.reference.native(case.inputs)[0]
        lost = native == 0

        assert case.near([torch.where(lost, case.expected[0].bfloat16(), native)], native)
        assert not case.near([torch.where(lost, -9999.0, native)], native)


@pytest.mark.parametrize("made", ["torch.arange(x.shape[1])", "torch.ones(x.shape[1])", "x.abs().max().item()"])
def test_other_sizes_are_tried_for_a_reference_that_needs_values_or_the_cpu(made: str) -> None:
    assert smaller_sizes(task_of("x", f"(x * {made}).sum(1)", ANY), elements=1 << 10, odd=True)


def test_a_reference_that_draws_by_type_is_refused_with_the_reason() -> None:
    drawn = "x @ torch.randn(N, N, generator=torch.Generator().manual_seed(1), dtype=x.dtype)"

    with pytest.raises(TaskError, match="others in float64"):
        given_case("given", Reference(task_of("x", drawn, ANY), seed=0))


@pytest.mark.parametrize("given", ["[[2.0], {'shift': 0.5}]", "{'scale': 2.0, 'shift': 0.5}"])
def test_arguments_of_a_model_may_have_names(given: str) -> None:
    source = task_of("x", "x * self.scale + self.shift", ANY).source.replace(
        "    def forward",
        "    def __init__(self, scale, shift):\n        super().__init__()\n"
        "        self.scale, self.shift = scale, shift\n\n    def forward",
    )
    reference = Reference(Task(name="small", source=source.replace("return []", f"return {given}")), seed=0)

    assert reference.numbers == (2.0, 0.5)
    assert given_case("given", reference).is_finite

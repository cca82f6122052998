"""Candidates are tried at sizes and values that the judge chooses, and must be about as exact as the reference."""

import math
from collections.abc import Callable
from itertools import count

import pytest
import torch  # noqa: TID253 - what is tested computes with it

from eval.oracle.cases import (
    Case,
    check_repeatable,
    check_state,
    draw_case,
    draw_cases,
    given_case,
    make_case,
    usable_distributions,
)
from eval.oracle.constants import integer_constants
from eval.oracle.reference import Reference
from eval.oracle.sizes import Change, _all_even, _all_odd, count_elements, smaller_sizes
from eval.oracle.task import load_task
from eval.oracle.values import DISTRIBUTIONS, EDGES, Structure, learn_structures
from eval.selftest.known import TASKS
from kb.errors import TaskError, TaskSizeError
from kb.types.evidence import Outcome
from kb.types.kernels import Task

FILE = """
import torch
from torch import nn

{constants}

class Model(nn.Module):
    def forward(self, x):
        return {result}

def get_inputs():
    return [{input}]

def get_init_inputs():
    return []
"""


def task_of(result: str = "x + 1", *, constants: str = "N = 64", drawn: str = "torch.randn(N)") -> Task:
    return Task(name="small", source=FILE.format(constants=constants, result=result, input=drawn))


def case_of(task: Task) -> Case:
    return given_case("given", Reference(task, seed=0))


def cases_of(task: Task) -> list[Case]:
    reference = Reference(task, seed=0)
    return list(draw_cases(reference, learn_structures(reference)))


@pytest.mark.parametrize("elements", [1 << 10, 1 << 12])
def test_sizes_shrink_to_the_limit_and_the_reference_still_runs(elements: int) -> None:
    for task in map(load_task, TASKS.glob("*.py")):
        sizes = smaller_sizes(task, elements=elements, odd=None)

        assert sizes, task.name
        assert set(sizes) <= set(integer_constants(task))
        reference = Reference(task, seed=0, sizes=sizes)
        assert count_elements(reference.interface()) <= elements
        assert next(draw_cases(reference, learn_structures(reference)), None), task.name


def test_odd_sizes_are_odd_and_different() -> None:
    task = task_of(constants="A = 1024\nB = 1024\nC = 512", drawn="torch.randn(A, B, C)")

    sizes = smaller_sizes(task, elements=1 << 16, odd=True)

    assert sizes
    assert set(sizes) == {"A", "B", "C"}
    assert all(size % 2 for size in sizes.values())
    assert len(set(sizes.values())) == 3
    others = (smaller_sizes(task, elements=1 << 16, odd=True) for _ in range(50))
    assert any(other != sizes for other in others), "the sizes are predictable"


def test_even_sizes_are_no_multiples_of_eight_and_different() -> None:
    task = task_of(constants="A = 1024\nB = 1024\nC = 512", drawn="torch.randn(A, B, C)")

    for _ in range(50):
        sizes = smaller_sizes(task, elements=1 << 16, odd=False)

        assert sizes
        assert all(size % 2 == 0 and size % 8 for size in sizes.values())
        assert len(set(sizes.values())) == 3


@pytest.mark.parametrize("change", [_all_odd, _all_even])
def test_many_sizes_that_fall_step_by_step_stay_distinct(change: Change) -> None:
    sizes = {f"S{number}": 4 * (12 - number) for number in range(10)}

    for _ in range(50):
        assert len(set(change(sizes).values())) == len(sizes)


def test_a_task_that_accepts_no_odd_size_is_tried_at_even_sizes() -> None:
    task = task_of("x.view(-1, 2).sum(-1)", constants="N = 4096")

    assert smaller_sizes(task, elements=1 << 10, odd=None) is not None
    assert (smaller_sizes(task, elements=1 << 10, odd=True) or {"N": 0})["N"] % 2 == 0


def test_no_sizes_leave_an_output_without_elements() -> None:
    task = task_of("x[:, 20:]", constants="A = 512\nB = 512", drawn="torch.randn(A, B)")

    sizes = smaller_sizes(task, elements=1 << 12, odd=None)

    assert sizes
    assert sizes["B"] > 20


@pytest.mark.parametrize("constants", ["", "N = float(64)", "def n(): return 64"])
def test_a_task_without_sizes_has_no_smaller_ones(constants: str) -> None:
    task = task_of(constants=constants, drawn="torch.randn(64)")

    assert not smaller_sizes(task, elements=16, odd=None)


def test_each_kind_of_values_is_tried_alone_and_all_together() -> None:
    tried = cases_of(task_of())

    assert [case.seed.kinds for case in tried[:2] if case.seed] == [("given",), DISTRIBUTIONS]
    assert {case.seed.kinds[0] for case in tried[2:] if case.seed} == {*DISTRIBUTIONS, EDGES} - {"given"}
    assert tried[1].name == "sizes as given; mixed values"


def test_some_values_are_tried_however_little_time_there_is() -> None:
    reference = Reference(task_of(), seed=0, sizes={"N": 65})

    tried = list(draw_cases(reference, learn_structures(reference), budget_s=-1.0))

    assert [case.name for case in tried] == [f"N=65; {kind} values" for kind in ("given", "mixed", "edge", "far")]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_variance_that_cancels_far_from_zero_fails_whatever_the_sums_are_in(dtype: torch.dtype) -> None:
    normalised = "(x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False) + 1e-5).sqrt()"
    drawn = f"torch.rand(ROWS, COLS, dtype={dtype})"
    reference = Reference(task_of(normalised, constants="ROWS = 200\nCOLS = 10", drawn=drawn), seed=0)
    refused = []

    for seed in range(4):
        case = draw_case(reference, learn_structures(reference), ["far"], seed=seed)
        assert case
        x = case.inputs[0]
        mean, squares = (each.double().mean(-1, keepdim=True) for each in (x, x.square()))
        for variance in ((x - mean).square().mean(-1, keepdim=True), (squares - mean.square()).clamp(min=0)):
            output = ((x - mean) / (variance + 1e-5).sqrt()).to(dtype)
            refused.append(case.compare([output]).outcome is Outcome.INCORRECT)

    assert not any(refused[::2])
    assert all(refused[1::2])


def test_integer_inputs_hold_only_numbers_that_the_task_draws() -> None:
    found = cases_of(task_of("x + 1", drawn="torch.randint(0, 9, (N,))"))

    assert {kind for case in found for kind in case.seed.kinds} == {"given", "equal", "sorted", EDGES}
    assert all(case.compare([case.inputs[0] + 1]).outcome is Outcome.PASSED for case in found)
    assert all(0 <= int(case.inputs[0].min()) <= int(case.inputs[0].max()) < 9 for case in found)


DOMAINS = {
    "a logarithm": "torch.log(x)",
    "an operation that raises": "nn.functional.binary_cross_entropy(x, x, reduction='none')",
}


@pytest.mark.parametrize("result", DOMAINS.values(), ids=DOMAINS)
def test_values_on_which_the_reference_fails_or_is_not_finite_are_left_out(result: str, monkeypatch) -> None:
    monkeypatch.setattr(
        "eval.oracle.cases.new_seed", count(1).__next__
    )  # one draw in twenty rounds a value to the edge
    reference = Reference(task_of(result, drawn="torch.rand(N)"), seed=0)
    structures = learn_structures(reference)

    kinds = usable_distributions(reference, structures)
    tried = list(draw_cases(reference, structures, kinds))

    assert "signs" not in kinds
    assert "small" in kinds
    assert any(case.seed and case.seed.kinds == tuple(kinds) for case in tried), "the others are mixed without it"


def test_kinds_that_overflow_at_a_larger_size_are_left_out_of_the_mixture() -> None:
    reference = Reference(task_of("x.exp()", drawn="torch.rand(N) * 80"), seed=0)

    tried = list(draw_cases(reference, learn_structures(reference)))

    mixed = next(case.seed.kinds for case in tried if case.seed and len(case.seed.kinds) > 1)
    assert "large" not in mixed
    assert "small" in mixed


def test_the_same_draw_gives_the_same_case() -> None:
    one = next(case for case in cases_of(task_of("x.cumsum(0)")) if case.seed and len(case.seed.kinds) > 1)
    assert one.seed

    again = Reference(task_of("x.cumsum(0)"), seed=one.seed.parameters, sizes=one.seed.sizes)
    other = draw_case(again, learn_structures(again), one.seed.kinds, seed=one.seed.inputs)

    assert other
    assert torch.equal(one.inputs[0], other.inputs[0])
    assert torch.equal(one.tolerances[0].allowed, other.tolerances[0].allowed)


@pytest.mark.parametrize("result", ["torch.log(x - x)", "(x - x) / (x - x)", "x * 3e38 * 3e38"])
def test_a_reference_that_is_not_finite_on_its_own_inputs_is_refused(result: str) -> None:
    with pytest.raises(TaskError, match="infinities or NaN"):
        case_of(task_of(result))


def test_a_zero_that_is_drawn_by_chance_refuses_no_task() -> None:
    task = task_of("torch.log((x - 0.001).relu())", constants="N = 100", drawn="torch.rand(N)")

    for seed in range(30):
        assert given_case("given", Reference(task, seed=seed)).is_finite


def test_equal_infinities_are_the_same_again() -> None:
    check_repeatable(Reference(task_of("(x / 0, torch.log(x))"), seed=0))


def test_a_case_on_which_the_reference_overflows_is_left_out() -> None:
    reference = Reference(task_of("x * 3e38 * 3e38"), seed=0)

    case = make_case("overflow", reference, reference.inputs(0))

    assert not case.is_finite
    assert all(each.seed and each.seed.at_edges for each in draw_cases(reference, learn_structures(reference)))


@pytest.mark.parametrize("where", ["eval.oracle.expected.tolerance_of", "eval.oracle.reference._perturb", "torch.relu"])
@pytest.mark.parametrize(
    "case",
    [
        lambda reference, _: given_case("given", reference),
        lambda reference, _: make_case("made", reference, reference.inputs(0)),
        lambda reference, structures: draw_case(reference, structures, ["given"], seed=0),
    ],
    ids=["given", "made", "drawn"],
)
def test_a_task_that_does_not_fit_into_the_memory_of_a_gpu_is_refused_as_such(
    case: Callable[[Reference, list[Structure]], Case], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("tried to allocate 14 GiB")

    reference = Reference(task_of("torch.relu(x)"), seed=0)
    structures = learn_structures(reference)
    monkeypatch.setattr(where, too_large)

    with pytest.raises(TaskSizeError, match="does not fit into the memory of this GPU: tried to allocate 14 GiB"):
        case(reference, structures)


@pytest.mark.parametrize("result", ["x.add_(1)", "torch.relu_(x)"])
def test_a_reference_that_changes_its_inputs_is_refused(result: str) -> None:
    with pytest.raises(TaskError, match="changes its inputs"):
        case_of(task_of(result))


RANDOM = {
    "dropout": "nn.functional.dropout(x)",
    "noise": "x + torch.randn(N)",
    "a random order": "x[torch.randperm(N)]",
    "a random integer": "torch.randint(9, (N,))",
}


@pytest.mark.parametrize("result", RANDOM.values(), ids=RANDOM)
def test_a_reference_that_is_random_is_refused_as_such(result: str) -> None:
    with pytest.raises(TaskError, match="other outputs on the same inputs"):
        case_of(task_of(result))


KEPT = {
    "a buffer that each call writes": "self.kept.copy_(x)",
    "a view of it": "self.kept.copy_(x)[::2]",
    "a buffer beside another output": "(x + 1, self.kept)",
    "a parameter": "(x + self.weight, self.weight)",
    "an attribute": "(x + 1, self.plain[None])",
    "whole numbers": "self.whole.copy_(x > 0)",
}
KEEPS = """class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.randn(N), persistent=False)
        self.register_buffer("whole", torch.zeros(N, dtype=torch.int64))
        self.weight = nn.Parameter(torch.randn(N))
        self.plain = torch.randn(N)
"""


def keeper(result: str) -> Task:
    return Task(name="keeps", source=task_of(result).source.replace("class Model(nn.Module):\n", KEEPS))


@pytest.mark.parametrize("result", KEPT.values(), ids=KEPT)
def test_a_reference_that_returns_memory_that_it_keeps_is_refused(result: str) -> None:
    with pytest.raises(TaskError, match=r"a parameter or a buffer of its own, or a view of one"):
        case_of(keeper(result))


@pytest.mark.parametrize("result", ["self.kept.copy_(x).clone()", "(x + self.weight, x[:3], x[:0])", "x.expand(2, N)"])
def test_a_reference_may_return_a_copy_or_a_view_of_its_inputs(result: str) -> None:
    assert case_of(keeper(result)).is_finite


@pytest.mark.parametrize("kept", ["kept", "plain"])
def test_a_reference_with_random_values_outside_of_its_state_is_refused(kept: str) -> None:
    with pytest.raises(TaskError, match="not in its state_dict"):
        check_state(Reference(keeper(f"x * self.{kept}"), seed=0))


def test_a_reference_is_decided_by_its_state() -> None:
    check_state(Reference(keeper("x * self.weight + torch.arange(N)"), seed=0))


SAME_FOR_ALL = {
    "a constant": ("x * 0 + 1", "torch.randn(N)"),
    "inputs that are not random": ("x + 1", "torch.ones(N)"),
    "no elements": ("x[:0]", "torch.randn(N)"),
    "saturated": ("torch.sigmoid(x + 1000)", "torch.randn(N)"),
}


@pytest.mark.parametrize(("result", "drawn"), SAME_FOR_ALL.values(), ids=SAME_FOR_ALL)
def test_a_reference_for_which_a_stored_answer_would_pass_is_refused(result: str, drawn: str) -> None:
    with pytest.raises(TaskError, match="a stored answer would pass"):
        case_of(task_of(result, drawn=drawn))


def test_an_output_that_two_draws_share_by_chance_is_no_stored_answer() -> None:
    for seed in range(20):
        assert given_case("given", Reference(task_of("x.sum() > 0"), seed=seed)).is_finite


def test_one_output_that_depends_on_the_inputs_is_enough() -> None:
    assert case_of(task_of("(x * 0, x + 1)")).is_finite


NEAR = {
    "the same as the reference": (lambda y: y, True),
    "one rounding error off": (lambda y: y * (1 + torch.finfo(torch.float32).eps), True),
    "rounded to float16": (lambda y: y.half().float(), False),
    "rounded to bfloat16": (lambda y: y.bfloat16().float(), False),
    "one element off by a hundredth": (lambda y: y + 0.01 * (torch.arange(len(y)) == 7), False),
    "zeros": (torch.zeros_like, False),
    "the mean of all": (lambda y: y.mean().expand_as(y), False),
    "one element infinite": (lambda y: torch.where(torch.arange(len(y)) == 7, math.inf, y), False),
    "one element not a number": (lambda y: torch.where(torch.arange(len(y)) == 7, math.nan, y), False),
}


@pytest.mark.parametrize("result", ["x + 1", "torch.tanh(x)", "x.abs().cumsum(0)", "torch.softmax(x, 0)"])
@pytest.mark.parametrize(("change", "accepted"), NEAR.values(), ids=NEAR)
def test_an_output_must_be_about_as_exact_as_the_reference(result: str, change, accepted: bool) -> None:
    case = case_of(task_of(result, constants="N = 1000"))
    [native] = case.reference.native(case.inputs)

    output = change(native)

    assert (case.compare([output]).outcome is Outcome.PASSED) == accepted
    assert case.near([output], native) == accepted


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_an_output_that_is_not_finite_is_told_with_its_first_wrong_element(value: float) -> None:
    case = case_of(task_of("x + 1", constants="N = 1000"))
    output = torch.where(torch.arange(1000) >= 7, value, case.reference.native(case.inputs)[0])

    right = f"{float(case.expected[0][7]):.6g}"
    found = f"an output is not finite; 993 of 1000 elements are wrong, the first at [7]: {value}, not {right}"
    assert case.compare([output]).detail == found


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_the_reference_itself_passes_in_every_precision(dtype: str) -> None:
    task = task_of("torch.softmax(x, -1)", constants="N = 4096", drawn=f"torch.randn(N, dtype=torch.{dtype})")
    for case in cases_of(task):
        native = case.reference.native(case.inputs)

        assert case.compare(native).outcome is Outcome.PASSED
        assert case.near(native, native)


@pytest.mark.parametrize("lanes", [8, 16, 64])
def test_summation_in_lanes_passes(lanes: int) -> None:
    case = case_of(task_of("x.sum(-1)", constants="ROWS = 20\nCOLS = 4096", drawn="torch.randn(ROWS, COLS)"))
    total = torch.zeros(20, lanes)
    for columns in case.inputs[0].split(lanes, dim=-1):
        total = total + columns

    assert case.compare([total.sum(-1)]).outcome is Outcome.PASSED


WRONG_INTEGERS = {
    "int64, small": ("torch.arange(N) + x", 1),
    "int64, too large for a double": ("torch.arange(N) + (1 << 60) + x", 1),
    "uint8": ("(torch.arange(N) + x).to(torch.uint8)", 1),
}


@pytest.mark.parametrize(("result", "step"), WRONG_INTEGERS.values(), ids=WRONG_INTEGERS)
def test_integers_must_be_exact(result: str, step: int) -> None:
    case = case_of(task_of(result, drawn="torch.randint(0, 9, (N,))"))
    [native] = case.reference.native(case.inputs)
    other = native.clone()
    other[5] += step

    assert case.compare([native]).outcome is Outcome.PASSED
    assert case.near([native], native)
    assert case.compare([other]).outcome is Outcome.INCORRECT
    assert not case.near([other], native)


def test_booleans_must_be_exact() -> None:
    case = case_of(task_of("x > 0"))
    [native] = case.reference.native(case.inputs)

    assert case.compare([native]).outcome is Outcome.PASSED
    assert case.compare([~native]).outcome is Outcome.INCORRECT
    assert case.near([native], native)
    assert not case.near([~native], native)


@pytest.mark.parametrize("byte", [0xFE, 0xFF, 2])
def test_a_byte_that_is_neither_0_nor_1_is_no_truth_value(byte: int) -> None:
    case = case_of(task_of("x > 0"))
    [native] = case.reference.native(case.inputs)
    unwritten = native.to(torch.uint8).mul_(byte).view(torch.bool)

    assert case.compare([unwritten]).outcome is Outcome.INCORRECT
    assert not case.near([unwritten], native)


def test_a_refusal_names_the_case_and_the_size_of_the_error() -> None:
    case = case_of(task_of())
    [native] = case.reference.native(case.inputs)

    result = case.compare([native + 1])

    assert result.name == "given"
    assert result.max_error == pytest.approx(1)
    assert result.error_ratio
    assert result.error_ratio > 1
    assert result.detail


def test_all_outputs_are_compared() -> None:
    case = case_of(task_of("(x + 1, x - 1)"))
    first, second = case.reference.native(case.inputs)

    assert case.compare([first, second]).outcome is Outcome.PASSED
    assert case.compare([first, second + 1]).outcome is Outcome.INCORRECT
    assert case.compare([first + 1, second]).outcome is Outcome.INCORRECT
    assert not case.near([first, second + 1], (first, second))


def test_an_output_without_elements_is_correct() -> None:
    reference = Reference(task_of("x[:0]"), seed=0)
    case = make_case("given", reference, reference.inputs(0))

    assert case.compare([torch.empty(0)]).outcome is Outcome.PASSED

"""A judge's cases have all distributions at all sizes, are new for each candidate, and include counterexamples."""

from pathlib import Path

import pytest
import torch  # noqa: TID253 - what is tested computes with it

from eval.devices.device import CaseSizes
from eval.judge import held_out_cases
from eval.judge.counterexamples import Counterexamples
from eval.judge.held_out_cases import HeldOutCases
from eval.oracle.cases import Case
from eval.oracle.reference import Reference, interface_of
from eval.oracle.values import DISTRIBUTIONS, EDGES
from kb.errors import TaskError
from kb.types.evidence import Outcome
from kb.types.kernels import Task
from tests.eval.judging import task
from tests.eval.test_cases import task_of

ALL_SIZES = CaseSizes(large=1 << 14, small=1 << 10, given=None)


@pytest.fixture(autouse=True)
def no_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    """All distributions are tried, however busy the machine is."""
    monkeypatch.setattr(held_out_cases, "BUDGET_S", 60.0)


def held_out(subject: Task, *, limits: CaseSizes = ALL_SIZES, counterexamples: Path | None = None) -> HeldOutCases:
    reference = Reference(subject, seed=5)
    return HeldOutCases(subject, reference, interface_of(subject), limits, Counterexamples(counterexamples))


def test_every_distribution_is_tried_at_even_sizes_and_at_those_given_and_all_together_at_odd_ones() -> None:
    found = [case.seed for case in held_out(task("row_sum")).for_candidate() if case.seed]

    own = {seed.kinds for seed in found if not seed.sizes}
    even = {seed.kinds for seed in found if seed.sizes and not any(size % 2 for size in seed.sizes.values())}
    odd = {seed.kinds for seed in found if seed.sizes and all(size % 2 for size in seed.sizes.values())}
    assert own == even == {DISTRIBUTIONS, (EDGES,), *((name,) for name in DISTRIBUTIONS)}
    assert odd >= {("given",), DISTRIBUTIONS, (EDGES,), ("far",)}


def test_each_candidate_is_tried_on_a_case_that_no_other_was() -> None:
    cases = held_out(task("row_sum"))

    first, second = cases.for_candidate(), cases.for_candidate()

    assert all(a is b for a, b in zip(first[:-1], second[:-1], strict=True))
    assert not torch.equal(first[-1].inputs[0], second[-1].inputs[0])


def test_a_case_that_refused_one_candidate_is_tried_first_on_all_later_ones(tmp_path: Path) -> None:
    cases = held_out(task("row_sum"), counterexamples=tmp_path / "refused.jsonl")
    fresh = cases.for_candidate()[-1]
    cases.add_counterexample(fresh)

    assert cases.for_candidate()[0] is fresh
    later = held_out(task("row_sum"), counterexamples=tmp_path / "refused.jsonl").for_candidate()[0]
    assert torch.equal(later.inputs[0], fresh.inputs[0])
    assert all(torch.equal(a, b) for a, b in zip(later.expected, fresh.expected, strict=True))


@pytest.mark.parametrize(("given", "odd"), [(None, True), (1 << 6, False)])
def test_small_sizes_are_odd_unless_no_even_ones_would_be_tried(given: int | None, odd: bool) -> None:
    limits = CaseSizes(large=1 << 14, small=1 << 10, given=given)

    first = held_out(task("row_sum"), limits=limits).for_candidate()[0]

    assert first.seed
    assert all(size % 2 == odd for size in first.seed.sizes.values())


def test_a_counterexample_at_sizes_that_the_device_cannot_run_is_not_tried_again(tmp_path: Path) -> None:
    cases = held_out(task("row_sum"), counterexamples=tmp_path / "refused.jsonl")
    [given] = [case for case in cases.for_candidate() if case.name == "sizes as given"]
    cases.add_counterexample(given)

    limits = CaseSizes(large=1 << 12, small=1 << 10, given=1 << 12)
    found = held_out(task("row_sum"), limits=limits, counterexamples=tmp_path / "refused.jsonl").for_candidate()

    assert all(case.seed and case.seed.sizes for case in found)


def test_a_counterexample_at_sizes_that_exceed_the_wanted_number_is_tried_again(tmp_path: Path) -> None:
    cases = held_out(task("row_sum"), counterexamples=tmp_path / "refused.jsonl")
    [first, *_] = [case for case in cases.for_candidate() if case.seed and case.seed.sizes]
    cases.add_counterexample(first)
    elements = sum(x.numel() for x in (*first.inputs, *first.expected))

    limits = CaseSizes(large=elements // 2, small=1 << 6, given=None)
    again = held_out(task("row_sum"), limits=limits, counterexamples=tmp_path / "refused.jsonl").for_candidate()[0]

    assert again.seed == first.seed


def test_a_random_reference_is_refused_where_its_own_sizes_are_not_run() -> None:
    with pytest.raises(TaskError, match="other outputs on the same inputs"):
        held_out(task_of("nn.functional.dropout(x)", constants="N = 4096"), limits=CaseSizes(1 << 12, 1 << 10, 1 << 10))


def test_a_large_task_without_sizes_is_refused() -> None:
    with pytest.raises(TaskError, match="too large"):
        held_out(task_of(constants="", drawn="torch.randn(4096)"), limits=CaseSizes(1 << 12, 1 << 10, 1 << 10))


FORGETS = """
import torch

ROWS = 128
WIDTH = 4

class Model(torch.nn.Module):
    def forward(self, x):
        h = torch.randn(x.shape[1])
        for row in x:
            h = {} * h + row
        return h

def get_inputs():
    return [torch.randn(ROWS, WIDTH)]

def get_init_inputs():
    return []
"""


def test_a_random_state_that_only_long_sequences_forget_leaves_the_own_sizes_alone() -> None:
    cases = held_out(Task(name="forgets", source=FORGETS.format(0.8)), limits=ALL_SIZES._replace(large=64, small=32))

    assert cases.limit.endswith("own sizes only: at smaller ones the reference gives other outputs on the same inputs")
    assert {str(case.seed.sizes) for case in cases.for_candidate() if case.seed} == {"{}"}


@pytest.mark.parametrize(("factor", "given"), [(1.0, None), (0.8, 32)])
def test_a_random_state_that_the_own_sizes_keep_or_that_cannot_run_there_is_refused(
    factor: float, given: int | None
) -> None:
    limits = ALL_SIZES._replace(large=32, small=32, given=given)

    with pytest.raises(TaskError, match="other outputs on the same inputs"):
        held_out(Task(name="random", source=FORGETS.format(factor)), limits=limits)


IN_TRAINING = """
import torch

class Model(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(features){mode}

    def forward(self, x):
        return self.norm(x)

def get_inputs():
    return [torch.randn(32, 48)]

def get_init_inputs():
    return [48]
"""


@pytest.mark.parametrize(
    ("given", "said"),
    {"1.5": "", "3": "3", "'sum', 0.0, None": "'sum', 0.0", "__import__('random').random()": ""}.items(),
)
def test_arguments_that_are_no_tensors_are_named_unless_they_change(given: str, said: str) -> None:
    source = (
        task("scaled_by").source.replace("factor: float", "*given").replace("x * factor", "x * 2").replace("3.5", given)
    )

    lines = held_out(Task(name="scaled", source=source)).limit.splitlines()

    assert [line for line in lines if line.startswith(held_out_cases.OWN_NUMBERS)] == [
        f"{held_out_cases.OWN_NUMBERS}: {said}" for _ in range(bool(said))
    ]


@pytest.mark.parametrize(
    ("mode", "said"), {"": "norm.running_mean, norm.running_var, norm.num_batches_tracked", ".eval()": ""}.items()
)
def test_buffers_that_the_reference_updates_are_named_because_only_outputs_are_compared(mode: str, said: str) -> None:
    subject = Task(name="normalise", source=IN_TRAINING.format(mode=mode))

    lines = held_out(subject).limit.splitlines()

    assert [line for line in lines if line.startswith(held_out_cases.OUTPUTS_ONLY)] == [
        f"{held_out_cases.OUTPUTS_ONLY}: {said}" for _ in range(bool(said))
    ]


def with_other_numbers(cases: HeldOutCases) -> list[Case]:
    return [case for case in cases.for_candidate() if case.seed and case.seed.factor != 1]


def test_numbers_given_to_the_model_are_others_in_cases_of_given_mixed_and_tiny_values(tmp_path: Path) -> None:
    cases = held_out(task("leaky"), counterexamples=tmp_path / "refused.jsonl")

    first, *others = found = with_other_numbers(cases)

    assert [case.seed and case.seed.kinds for case in found] == [("given",), DISTRIBUTIONS, ("tiny",)]
    assert all(0.05 <= first.reference.numbers[0] == other.reference.numbers[0] <= 0.15 for other in others)
    assert not cases.limit
    assert "numbers of Model(...) times 0." in first.name
    cases.add_counterexample(first)
    again = held_out(task("leaky"), counterexamples=tmp_path / "refused.jsonl").for_candidate()[0]
    assert (again.seed, again.reference.numbers) == (first.seed, first.reference.numbers)


LEAKY = task("leaky").source
CONFIGURED = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Inner:
    slope: float
    name: str = "leaky"

@dataclass
class Config:
    inner: Inner
    rows: int = ROWS
"""


def test_numbers_in_dataclasses_are_others_too() -> None:
    source = LEAKY.replace("class Model", f"{CONFIGURED}\n\nclass Model").replace("[slope]", "[Config(Inner(slope))]")
    cases = held_out(Task(name="leaky", source=source.replace("self.slope = slope", "self.slope = slope.inner.slope")))

    for case in (found := with_other_numbers(cases)):
        slope, rows = case.reference.numbers
        assert (0.05 <= slope <= 0.15, rows) == (True, 64)
        assert case.compare([torch.nn.functional.leaky_relu(case.inputs[0], slope)]).outcome is Outcome.PASSED
    assert found


def test_larger_numbers_are_given_to_a_model_that_allows_no_smaller_ones() -> None:
    source = LEAKY.replace("self.slope = slope", "assert slope >= 0.2\n        self.slope = slope")

    found = with_other_numbers(held_out(Task(name="leaky", source=source)))

    assert found
    assert all(0.2 / 0.75 <= case.reference.numbers[0] <= 0.2 / 0.25 for case in found)


NORMALISED = """
import torch

class Model(torch.nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        return {result}

def get_inputs():
    return [torch.randn(64, 96)]

def get_init_inputs():
    return [{eps}]
"""


@pytest.mark.parametrize(
    "result",
    [
        "torch.nn.functional.batch_norm(x, None, None, training=True, eps={eps})",
        "torch.nn.functional.layer_norm(x, (96,), eps={eps})",
        "x / (x.abs().sum(-1, keepdim=True) + {eps})",
    ],
)
@pytest.mark.parametrize("eps", [1e-5, 1e-12])
def test_a_kernel_that_keeps_the_epsilon_of_the_file_is_refused(result: str, eps: float) -> None:
    subject = Task(name="norm", source=NORMALISED.format(result=result.format(eps="self.eps"), eps=eps))

    found = with_other_numbers(held_out(subject))

    outcomes = [case.compare([eval(result.format(eps=eps), {"torch": torch, "x": case.inputs[0]})]) for case in found]
    assert Outcome.INCORRECT in [each.outcome for each in outcomes]


ONLY_ITS_OWN = "self.slope = {0.2: 0.2}[slope]"


@pytest.mark.parametrize(
    ("source", "numbers", "said"),
    [
        pytest.param(LEAKY, False, "0.2", id="candidates are not told them"),
        pytest.param(LEAKY.replace("self.slope = slope", ONLY_ITS_OWN), True, "0.2", id="others fail"),
        pytest.param(LEAKY.replace("slope = 0.2", "slope = 0.0"), True, "0.0", id="zero"),
        pytest.param(LEAKY.replace("slope = 0.2", "slope = 2"), True, "", id="an integer"),
        pytest.param(
            LEAKY.replace("= 0.2", "= 1.0").replace("leaky_relu(x,", "dropout(x, 1 -"), True, "1.0", id="chance"
        ),
    ],
)
def test_where_other_numbers_cannot_be_given_to_the_model_the_verdict_says_so(
    source: str, numbers: bool, said: str
) -> None:
    cases = held_out(Task(name="leaky", source=source), limits=ALL_SIZES._replace(numbers=numbers))

    assert not with_other_numbers(cases)
    assert cases.limit == (f"{held_out_cases.OWN_INIT}: {said}" if said else "")

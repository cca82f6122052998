"""What fits into a GPU is known before anything is placed there, and what does not is refused with the numbers."""

import pytest
import torch  # noqa: TID253 - what is tested computes with it

from eval.clock.memory_plan import MOST_SLOTS, MemoryPlan
from eval.oracle import reference as reference_module
from eval.oracle.cases import Case
from eval.oracle.cases import given_case as a_given_case
from eval.oracle.reference import Reference, interface_of
from eval.supervisor.device_memory import DeviceMemory
from kb.errors import TaskSizeError
from kb.types.kernels import Interface, Task, TensorSpec
from kb.types.timing import WIN_SESSIONS
from tests.eval.judging import reference

GIB = 1 << 30
SOFTMAX = TensorSpec(name="x", shape=(4096, 393216), dtype="float32")
"""Of KernelBench's level 1; 6 GiB."""


def plan(interface: Interface, gib: float) -> MemoryPlan:
    return MemoryPlan.of(interface, round(gib * GIB))


def softmax() -> Interface:
    return Interface(inputs=(SOFTMAX,), state=(), outputs=(SOFTMAX,), init=(), working_bytes=6 * GIB)


@pytest.mark.parametrize(("gib", "fits", "keeps"), [(101, True, True), (80, True, False), (40, False, False)])
def test_a_task_of_six_gib_of_inputs_and_outputs(gib: float, fits: bool, keeps: bool) -> None:
    found = plan(softmax(), gib)

    assert (found.expected / GIB, found.timed / GIB) == (48, 48)
    assert found.keeps_expected is keeps
    if fits:
        found.check()
    else:
        with pytest.raises(TaskSizeError, match=r"takes 48\.0 GiB, and this GPU has 40\.0 GiB: it has 6\.0 GiB of inp"):
            found.check()


def test_small_tasks_have_room_for_every_set_of_baselines_and_large_ones_for_one_at_a_time() -> None:
    small = TensorSpec(name="x", shape=(1024, 1024), dtype="float32")

    assert plan(Interface(inputs=(small,), state=(), outputs=(small,), init=()), 80).starts_together(3 * 8)
    assert not plan(softmax(), 80).starts_together(3)


@pytest.mark.parametrize(("gib", "baselines", "sets"), [(80, 1, 1), (131, 1, 3), (131, 2, 1), (24, 1, 1)])
def test_sets_of_baselines_stay_where_three_quarters_of_the_memory_hold_them(
    gib: float, baselines: int, sets: int
) -> None:
    assert plan(softmax(), gib).sets(baselines) == sets


@pytest.mark.parametrize(
    ("gib", "rows", "slots"), [(139, 1 << 10, 16), (139, 1 << 17, 8), (80, 1 << 17, 5), (24, 1 << 17, 1)]
)
def test_a_worker_has_several_inputs_at_once_where_a_session_leaves_memory_for_them(gib: float, rows: int, slots: int):
    x = TensorSpec(name="x", shape=(rows, 1024), dtype="float32")
    found = plan(Interface(inputs=(x,), state=(), outputs=(x,), init=(), working_bytes=4096 * rows), gib)
    each = found.inputs + found.outputs

    assert found.slot_bytes // each == slots
    assert found.timed + 2 * found.slot_bytes <= 0.9 * found.total


@pytest.mark.parametrize(
    ("share", "state", "slots", "sets"),
    [(1, 0, 16, 3), (1 / 2, 0, 16, 3), (1 / 3, 0, 9, 3), (1 / 4, 0, 2, 3), (1 / 4, 1 << 30, 11, 1)],
)
def test_a_worker_has_fewer_inputs_at_once_where_that_lets_more_sets_of_baselines_stay(
    share: float, state: int, slots: int, sets: int
) -> None:
    inputs, outputs, working = 201_326_592, 65_536, 1_426_063_360  # a Conv3d with GroupNorm, on an H200
    found = MemoryPlan(round(share * 139.8 * GIB), inputs, state, outputs, working)

    assert found.slot_bytes // (inputs + outputs) == slots
    assert min(WIN_SESSIONS, found.sets(3)) == sets


def test_plan_and_memory_agree_on_the_number_of_inputs():
    assert DeviceMemory.slots == MOST_SLOTS


KEEPS_TWO = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        squares = x * x
        sums = squares.sum(-1, keepdim=True)
        del squares
        return x / sums
def get_inputs():
    return [torch.rand(64, 1024)]
def get_init_inputs():
    return []
"""


def test_the_memory_of_a_call_is_the_most_that_it_has_at_once_whether_or_not_values_are_computed() -> None:
    told = Task(name="two", source=KEEPS_TWO)
    most = 64 * 1024 * 4 + 64 * 4  # the squares or the quotient, never both, and the sums

    assert interface_of(told).working_bytes == most
    assert Reference(told, seed=0).interface().working_bytes == most


def test_a_large_task_in_float64_keeps_its_expected_outputs_in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_module, "LARGE_BYTES", 1)
    double = Task(name="double", source=KEEPS_TWO.replace("1024)]", "1024, dtype=torch.float64)]"))
    case = a_given_case("large", Reference(double, seed=0))

    assert [t.dtype for t in case.expected] == [torch.float64]
    assert case.compare(case.reference.native(case.inputs)).outcome == "passed"


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> Case:
    """A case that counts as large; so it keeps its expected outputs in float32, and in the host's memory."""
    monkeypatch.setattr(reference_module, "LARGE_BYTES", 1)
    return a_given_case("large", reference("softmax")).on_host()


def test_a_large_case_takes_half_the_memory_and_still_tells_right_from_wrong(large: Case) -> None:
    assert large.is_large
    assert [t.dtype for t in large.expected] == [torch.float32]
    right = large.reference.native(large.inputs)
    assert large.compare(right).outcome == "passed"
    assert large.near(right, right)
    wrong = [right[0].clone()]
    wrong[0][-1] *= 1.01
    assert large.compare(wrong).outcome == "incorrect"
    assert not large.near([right[0].flip(0)], right)

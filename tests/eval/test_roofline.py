"""The shortest time of a task: from cited rates alone, measured before stated, dense, and of the whole device."""

import os
import re
from pathlib import Path

import pytest

from eval.clock import rounds, sessions
from eval.judge.task_judge import TaskJudge
from eval.oracle.reference import interface_of
from eval.oracle.task import load_task
from eval.roofline import IMPLAUSIBLE, Roofline, bottleneck, implausible, task_roofline
from eval.worker.dtypes import ITEM_BYTES
from kb.types.evidence import Outcome
from kb.types.fact import Fact
from kb.types.kernels import Interface, Task, TensorSpec
from kb.types.passages import Citation
from kb.types.records import Trust
from kb.types.target import Isa
from tests.eval.judging import needs_compiler, needs_linux, task
from tests.eval.test_judge import ROW_SUM

MATMUL = """
import torch

class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(64, 32, bias=False)

    def forward(self, x):
        return self.layer(x)

def get_inputs():
    return [torch.randn(16, 64)]

def get_init_inputs():
    return []
"""


def rate(quantity: str, value: float, unit: str, condition: str = "", trust: Trust = Trust.VENDOR) -> Fact:
    citation = Citation(id=f"{value:g}", path="a.md", sha256="0", section=(), line_start=1, line_end=1)
    return Fact(
        target="t", quantity=quantity, value=f"{value:g}", number=value, unit=unit, condition=condition, source="",
        citation=citation, trust=trust,
    )  # fmt: skip


STATED = rate("hbm_bandwidth", 5, "TB/s", "theoretical peak")
MEASURED = rate("hbm_bandwidth", 4, "TB/s", "copy", Trust.MEASURED)
OF_A_DIE = rate("hbm_bandwidth", 9, "TB/s", "per die")
DENSE = rate("peak_flops", 900, "TFLOP/s", "float16, dense, matrix")
SPARSE = rate("peak_flops", 1800, "TFLOP/s", "float16, sparse, matrix")
UNSAID = rate("peak_flops", 1700, "TFLOP/s", "float16, matrix")


def roofline(size_bytes: float, operations: float, dtype: str, facts: list[Fact], *, in_tf32: bool = False) -> Roofline:
    """Of a task with one input of at least so many bytes."""
    moved = TensorSpec(name="x", shape=(-(-int(size_bytes) // ITEM_BYTES[dtype]),), dtype=dtype)
    task = Interface(inputs=(moved,), state=(), outputs=(), init=(), matrix_operations=int(operations), in_tf32=in_tf32)
    return task_roofline(task, facts)


@pytest.mark.parametrize(
    ("facts", "chosen"),
    [([STATED], "5"), ([STATED, MEASURED], "4"), ([OF_A_DIE, STATED], "5")],
)
def test_memory_is_bound_by_the_rate_of_the_device_and_a_measured_one_goes_before(
    facts: list[Fact], chosen: str
) -> None:
    found = roofline(size_bytes=2e12, operations=0, dtype="float16", facts=facts)

    assert [c.fact.citation.id for c in found.ceilings] == [chosen]
    assert found.seconds == pytest.approx(2 / float(chosen))


def test_arithmetic_is_bound_by_the_dense_rate_of_the_type_alone() -> None:
    found = roofline(size_bytes=5e12, operations=1.8e15, dtype="float16", facts=[STATED, SPARSE, UNSAID, DENSE])

    assert [(c.what, c.fact) for c in found.ceilings] == [("arithmetic", DENSE), ("memory", STATED)]
    assert found.seconds == pytest.approx(2)


@pytest.mark.parametrize(
    ("narrow", "seconds", "said"),
    [
        ((), 2.0, "float32, dense, vector"),
        (("tf32", 4), 1.5, "tf32, dense, matrix, vendor, 3 products of parts for each in float32"),
        (("bfloat16", 8), 0.75, "bfloat16, dense, matrix, vendor, 3 products of parts for each in float32"),
        (("float16", 2), 2.0, "float32, dense, vector"),
    ],
)
def test_products_in_float32_are_bound_by_those_of_parts_where_these_are_faster(
    narrow: tuple[str, float], seconds: float, said: str
) -> None:
    facts = [STATED, rate("peak_flops", 1, "TFLOP/s", "float32, dense, vector")]
    facts += [rate("peak_flops", narrow[1], "TFLOP/s", f"{narrow[0]}, dense, matrix")] if narrow else []

    found = roofline(size_bytes=1, operations=2e12, dtype="float32", facts=facts)

    assert found.seconds == pytest.approx(seconds)
    assert said in str(found.ceilings[0])


def test_where_a_task_may_compute_in_tf32_one_product_in_it_is_the_bound() -> None:
    facts = [STATED, rate("peak_flops", 1, "TFLOP/s", "float32, dense, vector")]
    facts += [
        rate("peak_flops", 4, "TFLOP/s", "tf32, dense, matrix"),
        rate("peak_flops", 8, "TFLOP/s", "float16, dense"),
    ]

    found = roofline(size_bytes=1, operations=2e12, dtype="float32", facts=facts, in_tf32=True)

    assert found.seconds == pytest.approx(0.5)
    assert "parts" not in str(found.ceilings[0])


@pytest.mark.parametrize("facts", [[], [OF_A_DIE], [SPARSE]])
def test_without_any_rate_both_are_named(facts: list[Fact]) -> None:
    found = roofline(size_bytes=1, operations=1, dtype="float16", facts=facts)
    assert not found.ceilings
    unknown = r"hbm_bandwidth, the bandwidth of main memory of any kind; .* peak_flops for dense, float16"
    assert re.search(unknown, "; ".join(found.unknown))


@pytest.mark.parametrize(("fact", "unknown"), [(STATED, "peak_flops"), (DENSE, "hbm_bandwidth")])
def test_one_rate_bounds_the_time_and_the_other_is_said_to_be_unknown(fact: Fact, unknown: str) -> None:
    found = roofline(size_bytes=1, operations=1, dtype="float16", facts=[fact])

    assert [ceiling.fact for ceiling in found.ceilings] == [fact]
    assert unknown in found.unknown[0]


PARTS = [rate("dram_channels", 2, "1"), rate("dram_channel_width", 16, "bit"), rate("dram_rate", 3200, "Mbps")]


@pytest.mark.parametrize(
    ("facts", "gigabytes"),
    [([rate("ddr_bandwidth", 10, "GB/s")], 10), (PARTS, 12.8), ([*PARTS, rate("dram_bandwidth", 9, "GB/s")], 9)],
    ids=["the vendor's name of another memory", "channels, width and rate", "stated before derived"],
)
def test_main_memory_of_any_kind_bounds_the_time(facts: list[Fact], gigabytes: float) -> None:
    found = roofline(size_bytes=1e9, operations=0, dtype="int8", facts=facts)

    assert found.seconds == pytest.approx(1 / gigabytes)
    assert facts != PARTS or "2 channels x 16 bit x 3200 Mbps [kb cite 2, 16]" in str(found.ceilings[0])


def test_no_bound_follows_from_a_part_of_the_memory() -> None:
    found = roofline(size_bytes=1, operations=0, dtype="int8", facts=PARTS[1:])
    assert not found.ceilings
    assert "hbm_bandwidth" in found.unknown[0]


def test_of_a_task_bytes_are_those_of_all_tensors_and_operations_those_of_its_products() -> None:
    product = Task(name="product", source=MATMUL)
    interface = interface_of(product)

    found = task_roofline(interface, [STATED, rate("peak_flops", 1, "TFLOP/s", "float32, dense, vector")])

    amounts = {c.what: c.amount for c in found.ceilings}
    assert amounts == {"memory": 4 * (16 * 64 + 32 * 64 + 16 * 32), "arithmetic": 2 * 16 * 64 * 32}


def megabytes(count: int) -> Interface:
    return Interface(inputs=(TensorSpec(name="x", shape=(count << 20,), dtype="int8"),), state=(), outputs=(), init=())


CACHE = rate("l3_size", 2, "MiB")
SLOW = rate("hbm_bandwidth", 1, "MB/s", "copy", Trust.MEASURED)


@pytest.mark.parametrize(
    ("seconds", "size", "facts", "refused"),
    [
        (0.1, 3, [SLOW, CACHE], True),
        (1.048576 / IMPLAUSIBLE * 1.01, 3, [SLOW, CACHE], False),
        (0.1, 2, [SLOW, CACHE], False),
        (0.1, 3, [SLOW], False),
        (0.1, 3, [CACHE], False),
        (0.1, 3, [SLOW, STATED, CACHE], False),
    ],
    ids=["beats memory", "a little", "fits the cache", "no cache known", "no rate known", "a higher rate is stated"],
)
def test_a_time_is_implausible_only_where_memory_must_be_slower(
    seconds: float, size: int, facts: list[Fact], refused: bool
) -> None:
    why = implausible(seconds, megabytes(size), facts)

    assert bool(why) is refused
    assert not refused or "[kb cite 1]" in why


BOTTLENECKS = {"near the rate of memory": (1.25, "memory"), "far from it": (10.0, "latency")}


@pytest.mark.parametrize(("times", "kind"), BOTTLENECKS.values(), ids=BOTTLENECKS)
def test_a_bottleneck_is_the_rate_that_a_candidate_reaches_or_else_latency(times: float, kind: str) -> None:
    interface = megabytes(1)
    seconds = times * task_roofline(interface, [SLOW]).seconds

    found = bottleneck(seconds, interface, [SLOW])

    assert found
    assert (found.kind, found.compute) == (kind, 0.0)
    assert found.memory == pytest.approx(1 / times)


def test_a_candidate_that_reaches_the_rate_of_its_products_is_bound_by_them() -> None:
    product = Task(name="product", source=MATMUL)
    interface = interface_of(product)
    facts = [STATED, rate("peak_flops", 1, "MFLOP/s", "float32, dense, vector")]

    found = bottleneck(1.1 * task_roofline(interface, facts).seconds, interface, facts)

    assert found
    assert found.kind == "compute"
    assert len(found.citations) == 2


def test_without_rates_no_bottleneck_is_claimed() -> None:
    assert bottleneck(1.0, megabytes(1), [CACHE]) is None


def test_a_roofline_of_softmax_cites_every_input() -> None:
    example = load_task(Path("examples/softmax.py"))
    interface = interface_of(example)

    [memory] = task_roofline(interface, [STATED]).ceilings

    assert memory.amount == 2 * 4 * 2048 * 8192
    assert memory.fact.citation.id == "5"


@needs_linux
@needs_compiler
def test_the_judge_refuses_what_beats_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "MOST_ROUNDS", rounds.LEAST_ROUNDS)
    monkeypatch.setattr(sessions, "MOST_OTHERS", 2.0)
    facts, isa = [SLOW, rate("l3_size", 1, "byte")], Isa("cpu", os.uname().machine)

    evidence = TaskJudge(task("row_sum"), "cpu", isa, facts, call_s=60.0).verify(ROW_SUM)

    assert evidence.outcome is Outcome.TOO_FAST
    assert "memory alone takes" in evidence.detail


def test_a_kernel_may_be_faster_than_memory_moves_parameters_that_it_has_folded() -> None:
    inputs, weights = megabytes(1).inputs, megabytes(99).inputs
    folded = megabytes(1).model_copy(update={"inputs": inputs, "state": weights})
    both = megabytes(1).model_copy(update={"inputs": inputs + weights})
    seconds = task_roofline(folded, [SLOW]).seconds / 20

    assert implausible(seconds, both, [SLOW, CACHE])
    assert not implausible(seconds, folded, [SLOW, CACHE])

"""A probe reports only measured values, says how it measured them, and continues if a step fails."""

import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from statistics import median
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from eval.probe import cpu as probe_cpu  # noqa: E402
from eval.probe import gpu as probe_gpu  # noqa: E402
from eval.probe import parts as probe_parts  # noqa: E402
from eval.probe.prober import probe  # noqa: E402
from eval.probe.sampling import LEAST_ROUNDS, WARM_ROUNDS, Call, Extent, sampled  # noqa: E402
from kb.errors import is_installed  # noqa: E402
from kb.types.measurement import Findings, Measurement  # noqa: E402
from kb.types.target import Isa  # noqa: E402
from kb.types.units import unit_of  # noqa: E402
from tests.eval.screen.kernels import cross_compiled  # noqa: E402

TINY = Extent(copied_bytes=(1 << 20, 1 << 21), matrix_sizes=(32, 64), batch_s=1e-3, rounds=5, step_s=0.1)
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
needs_triton = pytest.mark.skipif(not is_installed("triton"), reason="there is no Triton for this system")
H200 = SimpleNamespace(
    name="NVIDIA H200", major=9, minor=0, uuid="0", multi_processor_count=132, warp_size=32,
    shared_memory_per_block=49152, shared_memory_per_block_optin=232448, total_memory=150 << 30,
)  # fmt: skip


@pytest.fixture(scope="module")
def found() -> Findings:
    """Findings for this machine's CPU, with little work."""
    return probe(cpu=True, extent=TINY)


def test_every_reading_has_a_known_unit_and_says_how_it_was_measured(found: Findings) -> None:
    for reading in found.readings:
        assert reading.value > 0, reading
        assert unit_of(reading.unit), reading
        assert reading.how, reading


def test_a_timed_value_is_the_median_of_its_samples(found: Findings) -> None:
    timed = [r for r in found.readings if r.samples]

    assert {"hbm_bandwidth", "peak_flops"} <= {r.quantity for r in timed}
    assert [r for r in timed if r.value != median(r.samples)] == []


def test_a_peak_states_dtype_and_density_first(found: Findings) -> None:
    conditions = [r.condition.split(", ") for r in found.readings if r.quantity == "peak_flops"]

    assert {c[0] for c in conditions} >= {"float32", "float64"}
    assert {c[1] for c in conditions} == {"dense"}


def test_the_headline_bandwidth_is_that_of_the_best_size(found: Findings) -> None:
    rates = {r.condition: r.value for r in found.readings if r.quantity == "hbm_bandwidth"}

    for operation in ("copy", "read"):
        sizes = [f"{operation}, {size >> 20} MiB" for size in TINY.copied_bytes]
        assert rates[operation] == max(rates[size] for size in sizes)


def test_progress_is_reported_for_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(probe_cpu, "steps", lambda extent: {"a": list, "b": list})

    probe(lambda done, total: told.append((done, total)), cpu=True, extent=TINY)

    assert told == [(0, 2), (1, 2), (2, 2)]


def test_a_failed_step_is_reported_and_the_others_still_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> list[Measurement]:
        raise RuntimeError("no such thing\nat 0x1")

    monkeypatch.setattr(probe_cpu, "steps", lambda extent: {"odd": fail, "cores": probe_cpu._cores})

    found = probe(cpu=True, extent=TINY)

    assert found.missing == ("odd: no such thing",)
    assert [r.quantity for r in found.readings] == ["compute_units"]


def test_without_a_compiler_there_is_no_vector_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)

    with pytest.raises(RuntimeError, match="no C\\+\\+ compiler"):
        probe_cpu._multiply_adds(TINY)


def test_calls_are_timed_in_turn_and_warm_rounds_do_not_count() -> None:
    order: list[str] = []
    slowness = iter([9.0] * 2 * WARM_ROUNDS + [1.0] * 100)

    def clock(call: Call, count: int) -> float:
        call()
        return next(slowness) if len(order) > 4 else 1.0  # each call runs twice before the rounds

    first, second = sampled([lambda: order.append("a"), lambda: order.append("b")], clock, TINY)

    assert order == [*"aabb", *"ab" * (WARM_ROUNDS + TINY.rounds)]
    assert set(first) == set(second) == {1.0}


def test_a_slow_call_gets_the_minimum_number_of_rounds() -> None:
    (samples,) = sampled([lambda: None], lambda call, count: 1.0, TINY._replace(rounds=1000, step_s=0))

    assert len(samples) == LEAST_ROUNDS


def test_a_quick_call_is_timed_in_batches_and_reported_per_call() -> None:
    counts: list[int] = []

    def clock(call: Call, count: int) -> float:
        counts.append(count)
        return count * 1e-5

    (samples,) = sampled([lambda: None], clock, TINY)

    assert samples == pytest.approx([1e-5] * len(samples))
    assert set(counts[2:]) == {100}


def test_successive_calls_copy_all_parts() -> None:
    source, goal = torch.rand(1000), torch.zeros(1000)
    copy = probe_parts._in_turn(torch.Tensor.copy_, 1000, goal, source)

    for _ in range(4):
        copy()

    assert torch.equal(source, goal)


def test_rates_count_bytes_moved_and_operations_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_second(calls: list[Call], clock: object, extent: Extent) -> list[tuple[float, ...]]:
        return [(1.0,) for _ in calls]

    monkeypatch.setattr(probe_parts, "sampled", one_second)
    moved = probe_parts.bandwidth("cpu", torch.sum, "sum", probe_cpu.wall_clock, TINY)
    (peak,) = probe_parts.product_peak(
        probe_parts.torch_product("float32, dense, matmul", torch.float32, "cpu"), "FLOP/s", probe_cpu.wall_clock, TINY
    )

    assert {r.condition: r.amount for r in moved} == pytest.approx(
        {"copy": 2 << 21, "copy, 1 MiB": 2 << 20, "copy, 2 MiB": 2 << 21,
         "read": 1 << 21, "read, 1 MiB": 1 << 20, "read, 2 MiB": 1 << 21}
    )  # fmt: skip
    assert peak.amount == 2 * 64**3


@pytest.mark.parametrize(
    ("hip", "workgroup"), [(None, (227.0, "per workgroup, opt-in")), ("7.0", (48.0, "per workgroup"))]
)
def test_only_properties_that_the_driver_reports_become_readings(
    monkeypatch: pytest.MonkeyPatch, hip: str | None, workgroup: tuple[float, str]
) -> None:
    monkeypatch.setattr(probe_gpu, "_properties", lambda: H200)
    monkeypatch.setattr(torch.version, "hip", hip)

    found = {r.quantity: (r.value, r.condition) for r in probe_gpu._reported()}

    assert found == {
        "compute_units": (132.0, "whole device"),
        "wavefront_size": (32.0, ""),
        "lds_size": workgroup,
        "hbm_size": (150.0, "as the driver reports it"),
    }


def test_a_gpu_has_its_driver_s_name_and_its_compilers_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(probe_gpu, "_properties", lambda: H200)
    nvidia = probe_gpu.device()
    monkeypatch.setattr(torch.version, "hip", "7.0")
    amd = SimpleNamespace(name="AMD Instinct MI300X", gcnArchName="gfx942:sramecc+:xnack-")
    monkeypatch.setattr(probe_gpu, "_properties", lambda: amd)

    assert (nvidia.name, nvidia.backend, nvidia.architecture) == ("NVIDIA H200", "cuda", "sm_90")
    assert (probe_gpu.device().backend, probe_gpu.device().architecture) == ("hip", "gfx942")


@needs_triton
@pytest.mark.parametrize(
    ("isa", "instruction", "lanes"), [("cuda 90 32", "FFMA", 1), ("hip gfx942 64", "v_pk_fma_f32", 2)]
)
def test_no_multiply_add_is_optimised_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, isa: str, instruction: str, lanes: int
) -> None:
    from eval.probe.kernels import multiply_add

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    numbers = torch.empty(1 << 20, device="meta")
    per_thread = probe_gpu.FMA_BLOCK // (probe_gpu.WARPS * (Isa.parse(isa).lanes or 1)) * probe_gpu.UNROLLED

    def call() -> None:
        multiply_add[(1,)](
            numbers, probe_gpu.FMA_ROUNDS, probe_gpu.FMA_BLOCK, probe_gpu.UNROLLED, num_warps=probe_gpu.WARPS
        )

    [record] = cross_compiled(Isa.parse(isa), call, tmp_path).records

    assert (tmp_path / record["assembly"]).read_text().count(f"{instruction} ") == per_thread // lanes


INTERPRETED = """
import torch
from eval.probe.kernels import multiply_add, nothing, read_blocks
source, sums = torch.rand(128), torch.zeros(4)
read_blocks[(4,)](source, sums, 16, 2)
assert torch.allclose(sums, source.view(4, 32).sum(1))
x = torch.rand(64) / 2
wanted = start = x.clone()
for _ in range(6):
    wanted = wanted * start + start
multiply_add[(2,)](x, 3, 32, 2)
assert torch.allclose(x, wanted)
nothing[(1,)](x)
"""


@needs_triton
def test_the_kernels_do_the_work_that_is_counted() -> None:
    environment = os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", INTERPRETED], env=environment, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


@needs_gpu
def test_a_gpu_is_probed_completely() -> None:
    found = probe()

    assert found.missing == ()
    conditions = {r.condition for r in found.readings}
    assert conditions >= {f"{d}, dense, matrix, matmul" for d in ("float16", "bfloat16")}
    assert conditions >= {f"{d}, dense, vector, multiply-add" for d in ("float32", "float64")}
    assert conditions >= {f"{op}, {size >> 20} MiB" for op, size in product(("copy", "read"), (1 << 27, 1 << 29))}

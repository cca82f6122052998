"""Probe the first GPU: driver properties, bandwidth, matrix and vector peaks, launches."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import torch

from eval.machine import answer_of
from eval.oracle.precision import computed_in
from eval.probe.parts import MIB, Product, bandwidth, product_peak, torch_product
from eval.probe.sampling import Call, Extent, Steps, reported, sampled, timed, wall_clock
from kb.errors import is_installed
from kb.types.kernels import Precision
from kb.types.measurement import Measurement, ProbedDevice, scale_of

EXTENT = Extent(
    copied_bytes=(128 * MIB, 512 * MIB, 2048 * MIB), matrix_sizes=(4096, 8192), batch_s=0.03, rounds=15, step_s=5
)
UNIT = "TFLOP/s"
BLOCK, BLOCKS, WARPS = 4096, 8, 8
"""The read kernel's elements per block, blocks per program and warps per program."""
FMA_BLOCK, FMA_ROUNDS, UNROLLED, PROGRAMS = 2048, 2048, 16, 16
"""The multiply-add kernel's elements per program, rounds, unrolled steps per round and programs per compute unit,
which are enough to keep all units busy to the end."""
GRAPH_LAUNCHES = 100
FLOAT8 = ("float8_e4m3fn", "float8_e4m3fnuz")
"""A device supports one of these."""
REPORTED = (
    ("compute_units", "multi_processor_count", "1", "whole device"),
    ("wavefront_size", "warp_size", "lane", ""),
    ("max_threads", "max_threads_per_multi_processor", "thread", "per compute unit"),
    ("registers_per_compute_unit", "regs_per_multiprocessor", "1", "32 bit each"),
    ("lds_size", "shared_memory_per_multiprocessor", "KiB", "per compute unit"),
    ("l2_size", "L2_cache_size", "MiB", "as the driver reports it"),
    ("hbm_size", "total_memory", "GiB", "as the driver reports it"),
)
"""Quantity, name in torch's device properties, unit, condition."""
WORKGROUP_MEMORY = {
    "cuda": ("lds_size", "shared_memory_per_block_optin", "KiB", "per workgroup, opt-in"),
    "hip": ("lds_size", "shared_memory_per_block", "KiB", "per workgroup"),
}


def device() -> ProbedDevice:
    properties, hip = _properties(), torch.version.hip
    backend = "hip" if hip else "cuda"
    architecture = properties.gcnArchName.partition(":")[0] if hip else f"sm_{properties.major}{properties.minor}"
    triton = [f"triton {import_module('triton').__version__}"] if is_installed("triton") else []
    ask = ("--query-gpu=driver_version", "--format=csv,noheader,nounits", "-i")
    drivers = [] if hip else answer_of("nvidia-smi", *ask, f"GPU-{properties.uuid}")
    return ProbedDevice(
        name=properties.name,
        backend=backend,
        architecture=architecture,
        software=(
            f"torch {torch.__version__}",
            *triton,
            f"{backend} {hip or torch.version.cuda}",
            *(f"driver {version}" for version in drivers),
        ),
    )


def steps(extent: Extent = EXTENT) -> Steps:
    """The independent steps of the probe."""
    return {
        "driver": _reported,
        "memory bandwidth": partial(_bandwidth, extent),
        **{name: partial(_product_peak, name, extent) for name in _products()},
        "vector peak": partial(_multiply_adds, extent),
        "launch latency": partial(_launches, extent),
    }


def event_clock(call: Call, count: int) -> float:
    """Seconds for `count` calls by the device's clock."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    start.record()
    for _ in range(count):
        call()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) / 1e3


def _reported() -> list[Measurement]:
    properties, how = _properties(), "as the driver reports it"
    rows = (*REPORTED, WORKGROUP_MEMORY["hip" if torch.version.hip else "cuda"])
    return [
        reported(quantity, value / scale_of(unit), unit, condition, f"{how}, {name} of torch's device properties")
        for quantity, name, unit, condition in rows
        if (value := getattr(properties, name, 0))
    ]


def _bandwidth(extent: Extent) -> list[Measurement]:
    from eval.probe.kernels import read_blocks

    sums = torch.empty(max(extent.copied_bytes) // torch.float32.itemsize // (BLOCK * BLOCKS), device="cuda")

    def read(source: torch.Tensor) -> None:
        read_blocks[(source.numel() // (BLOCK * BLOCKS),)](source, sums, BLOCK, BLOCKS, num_warps=WARPS)

    return bandwidth("cuda", read, "Triton kernel that adds up float32", event_clock, extent)


def _products() -> dict[str, Callable[[], Product]]:
    """Matrix products, created only when run. The library chooses the unit for float32 and float64: none is named."""
    wide = {d: f"{d}, dense, matmul" for d in ("float32", "float64")}
    narrow = {d: f"{d}, dense, matrix, matmul" for d in ("float16", "bfloat16")}
    plain = {f"{d} peak": partial(torch_product, c, getattr(torch, d), "cuda") for d, c in (wide | narrow).items()}
    return {**plain, "tf32 peak": _tf32, "float8 peak": _float8, "int8 peak": _int8}


def _product_peak(name: str, extent: Extent) -> list[Measurement]:
    with computed_in(None if name.startswith("tf32") else Precision.IEEE):
        return product_peak(_products()[name](), UNIT, event_clock, extent)


def _tf32() -> Product:
    """Raises RuntimeError if torch does not use tf32 although it is allowed."""
    a = torch.randn(512, 512, device="cuda")
    with computed_in(Precision.IEEE):
        exact = a @ a
    if torch.equal(exact, a @ a):
        raise RuntimeError("torch does not use it on this device")
    product = torch_product("tf32, dense, matrix, matmul", torch.float32, "cuda")
    return product._replace(how="torch.matmul of float32, tf32 allowed")


def _float8() -> Product:
    """Raises RuntimeError if torch cannot multiply float8 on this device."""
    one = torch.ones((), device="cuda")

    def multiplied(dtype: torch.dtype, size: int) -> Call:
        a, b = (torch.randn(size, size, device="cuda").to(dtype) for _ in range(2))
        return lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=True)  # noqa: SLF001

    for name in FLOAT8:
        dtype = getattr(torch, name)
        try:
            multiplied(dtype, 512)()
        except (RuntimeError, ValueError) as error:
            refusal = str(error)
            continue
        condition = f"{name}, dense, matrix, matmul"
        return Product(condition, partial(multiplied, dtype), "torch._scaled_mm, bfloat16 result, fast accumulation")
    raise RuntimeError(refusal)


def _int8() -> Product:
    def prepare(size: int) -> Call:
        a, b = (torch.randint(-128, 128, (size, size), device="cuda", dtype=torch.int8) for _ in range(2))
        return lambda: torch._int_mm(a, b.t())  # noqa: SLF001 - torch has no public function

    return Product("int8, dense, matrix, matmul", prepare, "torch._int_mm, int32 result")


def _multiply_adds(extent: Extent) -> list[Measurement]:
    from eval.probe.kernels import multiply_add

    programs, readings = _properties().multi_processor_count * PROGRAMS, []
    operations = 2.0 * programs * FMA_BLOCK * FMA_ROUNDS * UNROLLED
    for dtype in ("float32", "float64"):
        numbers = torch.rand(programs * FMA_BLOCK, device="cuda", dtype=getattr(torch, dtype)) / 2
        launch = partial(multiply_add[(programs,)], numbers, FMA_ROUNDS, FMA_BLOCK, UNROLLED, num_warps=WARPS)
        (seconds,) = sampled([launch], event_clock, extent)
        rates = [operations / s for s in seconds]
        how = "Triton kernel of multiply-adds in registers"
        readings.append(timed("peak_flops", rates, UNIT, f"{dtype}, dense, vector, multiply-add", how))
    return readings


def _launches(extent: Extent) -> list[Measurement]:
    """Time to launch an empty kernel, measured in three ways."""
    from eval.probe.kernels import nothing

    unused = torch.zeros(1, device="cuda")

    def launch() -> None:
        nothing[(1,)](unused)

    def launch_and_wait() -> None:
        launch()
        torch.cuda.synchronize()

    launch_and_wait()  # compiles the kernel, which must not happen during the capture
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(GRAPH_LAUNCHES):
            launch()
    (waited,) = sampled([launch_and_wait], wall_clock, extent)
    queued, replayed = sampled([launch, graph.replay], event_clock, extent)
    per_launch = [s / GRAPH_LAUNCHES for s in replayed]
    ways = (
        (waited, "to completion", "host's clock, launched and waited for"),
        (queued, "back to back", "device's clock, launched one after the other by Python"),
        (per_launch, "in a graph", f"device's clock, {GRAPH_LAUNCHES} launches in a replayed graph"),
    )
    return [
        timed("launch_latency", seconds, "us", f"empty kernel, {condition}", f"empty Triton kernel, {how}")
        for seconds, condition, how in ways
    ]


def _properties() -> Any:
    return torch.cuda.get_device_properties(0)

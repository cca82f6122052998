"""Probe the CPU: cores and caches as the system reports them, the rest timed with torch and C++."""

import ctypes
import os
import platform
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import torch

from eval.machine import compilers, cpu_features, processor
from eval.probe.parts import MIB, bandwidth, product_peak, torch_product
from eval.probe.sampling import Extent, Steps, reported, sampled, timed, wall_clock
from eval.worker.adapters.cpp import FLAGS
from kb.types.measurement import Measurement, ProbedDevice

EXTENT = Extent(
    copied_bytes=(64 * MIB, 256 * MIB, 512 * MIB), matrix_sizes=(1024, 2048), batch_s=0.05, rounds=11, step_s=5
)
UNIT = "GFLOP/s"
FMA_ROUNDS = 1_000_000
CACHES = {
    ("1", "Data"): "l1_size", ("1", "Instruction"): "l1i_size",
    ("2", "Unified"): "l2_size", ("3", "Unified"): "l3_size",
}  # fmt: skip
"""Quantity by cache level and type in sysfs (kernel documentation, ABI/testing/sysfs-devices-system-cpu)."""
SYSTEM = Path("/sys/devices/system/cpu")


def device() -> ProbedDevice:
    compiler = compilers().get("c++", "")
    return ProbedDevice(
        name=processor(),
        backend="cpu",
        architecture=platform.machine(),
        features=cpu_features(),
        software=(f"torch {torch.__version__}", f"{platform.system()} {platform.release()}", *filter(None, [compiler])),
    )


def steps(extent: Extent = EXTENT) -> Steps:
    """The independent steps of the probe."""
    dtypes = ["float32", "float64"]
    if any("bf16" in feature for feature in cpu_features()):
        dtypes.append("bfloat16")  # without it torch emulates the type, which says nothing about the machine
    products = [torch_product(f"{d}, dense, matmul", getattr(torch, d), "cpu") for d in dtypes]
    return {
        "cores": _cores,
        "caches": _caches,
        "memory bandwidth": partial(bandwidth, "cpu", torch.sum, "torch.sum of float32", wall_clock, extent),
        **{f"{p.condition} peak": partial(product_peak, p, UNIT, wall_clock, extent) for p in products},
        "vector peak": partial(_multiply_adds, extent),
    }


def _cores() -> list[Measurement]:
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return [reported("compute_units", count, "1", "logical cores that a process may use", "as the system reports it")]


def _caches() -> list[Measurement]:
    """Caches of the first core."""
    found = []
    for folder in sorted(SYSTEM.glob("cpu0/cache/index*")):
        level, kind, size, shared = (
            (folder / name).read_text(encoding="ascii").strip() for name in ("level", "type", "size", "shared_cpu_list")
        )
        if quantity := CACHES.get((level, kind)):
            cores = f"one cache, of logical cores {shared.replace(',', ' and ')}"
            size_kib = int(size.removesuffix("K"))
            found.append(reported(quantity, size_kib, "KiB", cores, "as the system reports it in sysfs"))
    return found


def _multiply_adds(extent: Extent) -> list[Measurement]:
    compiler = shutil.which("c++")
    if compiler is None:
        raise RuntimeError("there is no C++ compiler")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "fma.so"
        source = Path(__file__).with_name("fma.cpp")
        command = [compiler, *FLAGS, "-ffp-contract=fast", "-o", str(file), str(source)]
        subprocess.run(command, check=True, capture_output=True)
        library = ctypes.CDLL(str(file))
    readings = []
    for dtype in ("float32", "float64"):
        run = library[dtype]
        run.argtypes, run.restype = (ctypes.c_int64,), ctypes.c_double
        rounds = max(1, int(FMA_ROUNDS * min(1, extent.batch_s / EXTENT.batch_s)))
        operations = run(rounds)
        (seconds,) = sampled([partial(run, rounds)], wall_clock, extent)
        how = "multiply-adds in registers in C++ with OpenMP, all cores"
        readings.append(
            timed("peak_flops", [operations / s for s in seconds], UNIT, f"{dtype}, dense, vector, multiply-add", how)
        )
    return readings

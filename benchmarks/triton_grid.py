"""Measure the times of all settings of two Triton kernels on a GPU, in rounds of shuffled order, for `replay.py`.

    python benchmarks/triton_grid.py --folder grids

Run it from the root of the repository. It needs torch and triton, but not kb. Processes compile the settings beside
each other. What is not compiled after `--compile-s` seconds counts as refused; so does what the GPU has no room for,
and what is wrong in one element. Then each round draws new inputs and times each setting once, over calls that take
turns with three of them.
"""

import argparse
import importlib.util
import json
import platform
import random
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from itertools import product
from multiprocessing import Queue, get_context
from pathlib import Path
from queue import Empty
from typing import Any, NamedTuple, TextIO

import torch
import triton
import triton.language as tl

MATMUL = Path("kb/skills/matmul-triton/scripts/kernel.py")
ROUNDS = 9
INPUTS = 3
SLEEP_CYCLES = 1_000_000
"""The GPU waits so long while the calls that it is timed for are queued."""

Values = tuple[int, ...]
"""The values of a setting, in the order of the kernel's choices."""


class Kernel(NamedTuple):
    """A kernel and its task."""

    task: str
    choices: Mapping[str, tuple[int, ...]]
    inputs: Callable[[], Any]
    output: Callable[[], torch.Tensor]
    refill: Callable[[Any], None]
    """Draw new values for an input."""
    launch: Callable[[Any, torch.Tensor, Values], None]
    compile: Callable[[Values], None]
    is_right: Callable[[Any, torch.Tensor], bool]
    """Whether an output is that of an input."""
    calls: int
    """Calls in one timing."""


@triton.jit
def softmax_row(x_ptr, y_ptr, cols, block: tl.constexpr, stages: tl.constexpr, keep: tl.constexpr):
    """Softmax of a row in two passes, whose loads run `stages` blocks ahead; `keep` asks the cache to keep the row."""
    start_of_row = tl.program_id(0).to(tl.int64) * cols
    x_ptr += start_of_row
    y_ptr += start_of_row
    policy: tl.constexpr = "evict_last" if keep else ""
    top = float("-inf")
    sums = tl.zeros((block,), tl.float32)
    for start in tl.range(0, cols, block, num_stages=stages):
        i = start + tl.arange(0, block)
        x = tl.load(x_ptr + i, mask=i < cols, other=float("-inf"), eviction_policy=policy)
        high = tl.maximum(top, tl.max(x, axis=0))
        sums = sums * tl.exp(top - high) + tl.exp(x - high)
        top = high
    scale = 1 / tl.sum(sums, axis=0)
    for start in tl.range(0, cols, block, num_stages=stages):
        i = start + tl.arange(0, block)
        x = tl.load(x_ptr + i, mask=i < cols)
        tl.store(y_ptr + i, tl.exp(x - top) * scale, mask=i < cols)


def softmax() -> Kernel:
    """Row softmax in float32, KernelBench's level 1, problem 23."""
    rows, cols = 4096, 393216

    def compile_one(values: Values) -> None:
        block, warps, stages, keep = values
        softmax_row.warmup(torch.float32, torch.float32, cols, block, stages, keep, grid=(rows,), num_warps=warps)

    def launch(x: torch.Tensor, y: torch.Tensor, values: Values) -> None:
        block, warps, stages, keep = values
        softmax_row[(rows,)](x, y, cols, block, stages, keep, num_warps=warps)

    def is_right(x: torch.Tensor, y: torch.Tensor) -> bool:
        parts = zip(x.split(256), y.split(256), strict=True)
        return all(torch.allclose(torch.softmax(given, 1), found, rtol=1e-4, atol=1e-9) for given, found in parts)

    return Kernel(
        task=f"softmax of the rows of a float32 matrix of {rows} x {cols}",
        choices={
            "BLOCK": (256, 512, 1024, 2048, 4096, 8192, 16384),
            "NUM_WARPS": (2, 4, 8, 16, 32),
            "STAGES": (1, 2, 3),
            "KEEP": (0, 1),
        },
        inputs=lambda: torch.empty(rows, cols, device="cuda"),
        output=lambda: torch.empty(rows, cols, device="cuda"),
        refill=lambda x: x.normal_(),
        launch=launch,
        compile=compile_one,
        is_right=is_right,
        calls=2,
    )


def matmul() -> Kernel:
    """kb's own kernel for a product of matrices, with float16 inputs and float32 sums."""
    size = 4096
    found = importlib.util.spec_from_file_location("matmul_triton", MATMUL)
    shipped = importlib.util.module_from_spec(found)
    found.loader.exec_module(shipped)
    tile = shipped.matmul_tile

    def compile_one(values: Values) -> None:
        *blocks, warps, stages = values
        given = (torch.float16, torch.float16, torch.float16, size, size, size)
        tile.warmup(*given, *blocks, grid=(1,), num_warps=warps, num_stages=stages)

    def launch(ab: tuple[torch.Tensor, torch.Tensor], c: torch.Tensor, values: Values) -> None:
        *blocks, warps, stages = values
        grid = (triton.cdiv(size, blocks[0]) * triton.cdiv(size, blocks[1]),)
        tile[grid](*ab, c, size, size, size, *blocks, num_warps=warps, num_stages=stages)

    def refill(ab: tuple[torch.Tensor, torch.Tensor]) -> None:
        for one in ab:
            one.normal_()

    def is_right(ab: tuple[torch.Tensor, torch.Tensor], c: torch.Tensor) -> bool:
        expected = ab[0].float() @ ab[1].float()
        return torch.allclose(expected, c.float(), rtol=2e-3, atol=0.1)

    def half() -> torch.Tensor:
        return torch.empty(size, size, device="cuda", dtype=torch.float16)

    return Kernel(
        task=f"product of two float16 matrices of {size} x {size}, float32 sums, kb/skills/matmul-triton",
        choices={
            "BLOCK_M": (64, 128, 256),
            "BLOCK_N": (64, 128, 256),
            "BLOCK_K": (32, 64),
            "GROUP_M": (1, 8),
            "NUM_WARPS": (4, 8),
            "NUM_STAGES": (2, 3, 4),
        },
        inputs=lambda: (half(), half()),
        output=half,
        refill=refill,
        launch=launch,
        compile=compile_one,
        is_right=is_right,
        calls=6,
    )


KERNELS: dict[str, Callable[[], Kernel]] = {"softmax-triton": softmax, "matmul-triton": matmul}
HEAVY = {"softmax-triton": lambda v: v[0] / v[1], "matmul-triton": lambda v: v[0] * v[1] / v[4]}
"""What makes a setting slow to compile: elements for each warp."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--compile-s", type=float, default=70.0)
    parser.add_argument("--time-s", type=float, default=70.0, help="for one kernel; what it lacks then is not measured")
    parser.add_argument("--processes", type=int, default=14)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    refused = compiled(options.compile_s, options.processes)
    for name, make in KERNELS.items():
        with (options.folder / f"{name}.jsonl").open("w", encoding="utf-8", buffering=1) as out:
            measure(make(), refused[name], out, options.time_s)
        torch.cuda.empty_cache()


def settings(choices: Mapping[str, tuple[int, ...]]) -> list[Values]:
    return list(product(*choices.values()))


def compiled(limit_s: float, processes: int) -> dict[str, dict[Values, str]]:
    """Compile every setting into Triton's cache; returns for each kernel what was refused, and why."""
    context = get_context("spawn")
    jobs, done = context.Queue(), context.Queue()
    todo = {(name, values) for name, make in KERNELS.items() for values in settings(make().choices)}
    for job in sorted(todo, key=lambda job: -HEAVY[job[0]](job[1])):
        jobs.put(job)
    workers = [context.Process(target=compile_jobs, args=(jobs, done), daemon=True) for _ in range(processes)]
    for worker in workers:
        worker.start()
    refused: dict[str, dict[Values, str]] = {name: {} for name in KERNELS}
    began = time.monotonic()
    while todo and (left_s := began + limit_s - time.monotonic()) > 0:
        try:
            name, values, error = done.get(timeout=left_s)
        except Empty:
            break
        todo.discard((name, values))
        if error:
            refused[name][values] = error
    for worker in workers:
        worker.kill()
    for name, values in todo:
        refused[name][values] = "not compiled in time"
    print(f"compiled in {time.monotonic() - began:.0f} s, {len(todo)} not", flush=True)
    return refused


def compile_jobs(jobs: Queue, done: Queue) -> None:
    kernels = {name: make() for name, make in KERNELS.items()}
    while True:
        name, values = jobs.get()
        try:
            kernels[name].compile(values)
            done.put((name, values, ""))
        except Exception as error:  # noqa: BLE001 - whatever a compiler raises refuses this setting
            done.put((name, values, f"{type(error).__name__}: {error}"[:200]))


def measure(kernel: Kernel, refused: dict[Values, str], out: TextIO, limit_s: float) -> None:
    """Time all settings in rounds. The first line holds the grid and its origin, each further line one time."""
    names = list(kernel.choices)
    space = [{"name": name, "value": values[0], "choices": values} for name, values in kernel.choices.items()]
    print(json.dumps({"task": kernel.task, "space": space, "origin": origin()}), file=out)
    inputs, output = [kernel.inputs() for _ in range(INPUTS)], kernel.output()
    began = time.monotonic()
    refused = dict(refused)
    for number in range(ROUNDS):
        for one in inputs:
            kernel.refill(one)
        order = settings(kernel.choices)
        random.Random(number).shuffle(order)
        for values in order:
            if (number and values in refused) or time.monotonic() - began > limit_s:
                continue
            time_us = None
            if values not in refused:
                try:
                    time_us = timed_us(kernel, inputs, output, values, check=not number)
                except Exception as error:  # noqa: BLE001 - whatever a launch raises refuses this setting
                    refused[values] = f"{type(error).__name__}: {error}"[:200]
            row = {"pass": number, "values": dict(zip(names, values, strict=True)), "time_us": time_us}
            print(json.dumps(row | {"detail": refused.get(values, "")}), file=out)
        print(f"round {number}: {time.monotonic() - began:.0f} s, {len(refused)} refused", flush=True)


def timed_us(kernel: Kernel, inputs: list[Any], output: torch.Tensor, values: Values, *, check: bool) -> float:
    """Microseconds of one call, after one that is not timed.

    Raises:
        ValueError: The output is wrong.
    """
    if check:
        output.fill_(float("nan"))
    kernel.launch(inputs[0], output, values)
    if check and not kernel.is_right(inputs[0], output):
        raise ValueError("wrong")
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda._sleep(SLEEP_CYCLES)  # noqa: SLF001 - torch has no public name for it
    begin.record()
    for call in range(kernel.calls):
        kernel.launch(inputs[(call + 1) % INPUTS], output, values)
    end.record()
    end.synchronize()
    return 1000 * begin.elapsed_time(end) / kernel.calls


def origin() -> dict[str, Any]:
    """Date, device and versions."""
    versions = {"python": platform.python_version()} | {name: version(name) for name in ("torch", "triton")}
    return {"date": time.strftime("%Y-%m-%d"), "device": torch.cuda.get_device_name(0), "versions": versions}


if __name__ == "__main__":
    main()

"""Measure how often the judge claims a win that is none, and misses one that is: the reference against itself.

    python -m benchmarks.judge_timing [--sessions 50] [--faster 50] [--hog | --gpu] --out RESULT

Every candidate is the reference itself, once as it is (A/A), once 2 % slower and once 10 % faster. Slower means that a
call waits in a loop for that share of its own time, by the clock; for a faster candidate, the reference waits. On a GPU
a call launches the same kernel 50 times; a slower one launches one more, a slower reference five. With `--hog`, a
process beside the judge writes memory all the time.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.origin import origin
from benchmarks.parts import measure_parts
from eval.clock.baseline_sources import EAGER, SOURCES
from eval.devices.cpu import Cpu
from eval.devices.device import Device
from eval.devices.gpu import Gpu
from eval.judge.task_judge import TaskJudge
from eval.languages.registry import TORCH
from eval.machine import present_gpu
from kb.types.kernels import Candidate, Task
from kb.types.target import Isa
from kb.types.timing import Timing

CALL_S = 60.0
LIBRARIES = ("kb-hardware", "torch")
HEAD = """
import time
import torch

def waiting(call, share):
    def forward(*arguments):
        start = time.perf_counter()
        result = call(*arguments)
        end = start + (time.perf_counter() - start) * (1 + share)
        while time.perf_counter() < end:
            pass
        return result
    return forward

"""
TASKS = {
    "layer of 512, one call of some 100 us": """
class Plain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(512, 512)
    def forward(self, x):
        return torch.relu(self.linear(x))
def get_inputs():
    return [torch.randn(1, 512)]
""",
    "matrix product of 384, on all cores": """
class Plain(torch.nn.Module):
    def forward(self, x, y):
        return x @ y
def get_inputs():
    return [torch.randn(384, 384), torch.randn(384, 384)]
""",
    "sums of 2,048 rows, 4 million numbers": """
class Plain(torch.nn.Module):
    def forward(self, x):
        return x.sum(-1)
def get_inputs():
    return [torch.randn(2048, 2048)]
""",
}
WAITING = """
class {name}(Plain):
    def forward(self, *arguments):
        return waiting(super().forward, {share})(*arguments)
"""
GPU_TASKS = {
    "50 element-wise kernels on 16 MB": """
class Plain(torch.nn.Module):
    def forward(self, x):
        return torch.sin(x)
def get_inputs():
    return [torch.randn(2048, 2048)]
""",
    "50 matrix products of 512": """
class Plain(torch.nn.Module):
    def forward(self, x, y):
        return x @ y
def get_inputs():
    return [torch.randn(512, 512), torch.randn(512, 512)]
""",
}
REPEATING = """
class {name}(Plain):
    def forward(self, *arguments):
        for _ in range({share}):
            result = super().forward(*arguments)
        return result
"""
TAIL = "def get_init_inputs():\n    return []\n"
FASTER = "10 % faster"
KINDS = {"the same": (0.0, 0.0), "2 % slower": (0.0, 0.02), FASTER: (1 / 9, 0.0)}
"""How long reference and candidate wait, as a share of a call."""
GPU_KINDS = {"the same": (50, 50), "2 % slower": (50, 51), FASTER: (55, 50)}
"""How many kernels reference and candidate launch."""


class EagerOnCpu(Cpu):
    """Has the eager baseline alone: the fastest of several equal ones would be faster than the reference by luck."""

    def sources(self) -> dict[str, str]:
        return {EAGER: SOURCES[EAGER]}


class EagerOnGpu(Gpu):
    """Has the eager baseline alone, because torch.compile would compute only once what a call here repeats."""

    sources = EagerOnCpu.sources


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=50, help="verdicts on what is no win")
    parser.add_argument("--faster", type=int, help="verdicts on what is a win, each of three sessions or more")
    beside = parser.add_mutually_exclusive_group()
    beside.add_argument("--hog", action="store_true")
    beside.add_argument("--gpu", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--minutes", type=float, help="begin nothing after that time; the same command goes on")
    options = parser.parse_args()
    kinds, tasks = (GPU_KINDS, GPU_TASKS) if options.gpu else (KINDS, TASKS)
    faster = options.sessions if options.faster is None else options.faster
    counts = dict.fromkeys(kinds, options.sessions) | {FASTER: faster}
    parts = {
        f"{kind}: {name}": partial(timed, plain, shares, -(-counts[kind] // len(tasks)), gpu=options.gpu)
        for kind, shares in kinds.items()
        for name, plain in tasks.items()
    }
    with memory_hog() if options.hog else nullcontext():
        measure_parts(origin(LIBRARIES) | {"hog": options.hog}, parts, options.out, options.minutes)


def timed(plain: str, shares: tuple[float, float], verdicts: int, *, gpu: bool) -> dict[str, object]:
    """What a number of verdicts on the same candidate say."""
    shared, form = HEAD + plain + TAIL, REPEATING if gpu else WAITING
    reference, source = (
        shared + form.format(name=name, share=share) for name, share in zip(("Model", "ModelNew"), shares, strict=True)
    )
    task, candidate = Task(name="aa", source=reference), Candidate(language=TORCH.name, source=source)
    isa = present_gpu() if gpu else Isa("cpu", os.uname().machine)
    if isa is None:
        raise SystemExit("there is no GPU that torch can use")
    device: type[Device] = EagerOnGpu if gpu else EagerOnCpu
    judge = TaskJudge(task, "this-gpu" if gpu else "cpu", isa, [], call_s=CALL_S, device=device)
    try:
        judged = [judge.verify(candidate) for _ in range(verdicts)]
        for evidence in judged:
            if evidence.timing is None:
                print(evidence.outcome, evidence.detail)
        return summary([evidence.timing for evidence in judged if evidence.timing])
    finally:
        judge.close()


def summary(times: list[Timing]) -> dict[str, object]:
    clean = [t for t in times if not t.busy]
    return {
        "verdicts": len(times),
        "busy": len(times) - len(clean),
        "wins": sum(t.won for t in times),
        "sessions": sum(len(t.sessions) for t in times),
        "speed-ups": [round(t.speedup, 3) for t in times],
        "median of clean ones": round(median(t.speedup for t in clean), 3) if clean else None,
    }


@contextmanager
def memory_hog() -> Iterator[None]:
    hog = subprocess.Popen(
        [sys.executable, "-c", "a = bytearray(1 << 28)\nwhile True:\n    a[:] = bytes(len(a))"],
        stdout=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        hog.kill()
        hog.wait()


if __name__ == "__main__":
    main()

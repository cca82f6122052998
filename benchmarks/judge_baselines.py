"""Measure what a candidate has to beat: the judge's baselines of 26 tasks, beside this machine's copy of their bytes.

    python -m benchmarks.judge_baselines KernelBench --out benchmarks/results/judge-baselines-h200.json [--minutes 9]

`KernelBench` is the folder that contains its `level1`. The first eleven tasks are those for which KernelAgent and
AutoKernel publish times of their kernels, with the same sizes and data types. All baselines of a task take turns on new
inputs, as they do beside a candidate. The same command goes on where it stopped.
"""

import argparse
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.kernelbench.suite import find_problems
from benchmarks.origin import origin
from benchmarks.parts import measure_parts
from benchmarks.sized_task import EXAMPLES, sized_task
from eval.clock.timed_worker import SHORT_US, TimedWorker
from eval.judge.task_judge import TaskJudge
from eval.machine import present_gpu
from eval.oracle.task import load_task
from eval.roofline import least_bytes
from eval.supervisor.device_memory import DeviceMemory
from kb.errors import KbError
from kb.types.kernels import Task
from kb.types.target import Isa

LIBRARIES = ("kb-hardware", "torch", "triton")
CALL_S = 120.0
ROUNDS = 30
AS_TYPE = """

def _construct(self, *arguments, construct=Model.__init__):
    construct(self, *arguments)
    self.to(torch.{dtype})


Model.__init__ = _construct


def get_inputs(get_float32_inputs=get_inputs):
    return [x.to(torch.{dtype}) if x.is_floating_point() else x for x in get_float32_inputs()]
"""
"""Changes a task's floating-point inputs and parameters to another type."""


class Measured(NamedTuple):
    """A task to measure: `FILE@NAME=SIZE,...` of examples/, or the number of a problem of KernelBench's level 1."""

    what: str | int
    dtype: str = "float32"


PUBLISHED = (
    *(Measured(number, "bfloat16") for number in (4, 36, 43, 77, 82)),
    *(
        Measured(f"{file}.py@{sizes}", "float16")
        for file, sizes in (
            ("rmsnorm", "ROWS=8192,COLS=8192"), ("softmax", "ROWS=8192,COLS=8192"),
            ("layernorm", "ROWS=8192,COLS=4096"),
            ("cross_entropy", "ROWS=8192,CLASSES=32000"), ("row_sum", "ROWS=8192,COLS=8192"),
            ("matmul", "ROWS=4096,INNER=4096,COLS=4096"),
        )
    ),
)  # fmt: skip
"""Those of kaiming-cheng/kernelagent-optimization-artifacts@56cf918 and RightNow-AI/autokernel@7843582."""
TASKS = (
    *PUBLISHED,
    *(Measured(path.name) for path in sorted(EXAMPLES.glob("*.py"))),
    *(Measured(number) for number in (1, 50, 88, 97)),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="KernelBench")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, help="begin no task after that time")
    options = parser.parse_args()
    parts = {f"{wanted.what}, {wanted.dtype}": partial(measured, wanted, options.folder) for wanted in TASKS}
    measure_parts(origin(LIBRARIES), parts, options.out, options.minutes)


def task_of(wanted: Measured, folder: Path) -> Task:
    if isinstance(wanted.what, int):
        [problem] = find_problems(folder, [1], frozenset({wanted.what}))
        task = load_task(problem.path)
    else:
        task = sized_task(wanted.what)
    if wanted.dtype == "float32":
        return task
    return task.model_copy(update={"source": task.source + AS_TYPE.format(dtype=wanted.dtype)})


def measured(wanted: Measured, folder: Path) -> dict[str, object]:
    """Medians of all baselines of a task and of a copy of its bytes in microseconds, or why there are none."""
    from torch import OutOfMemoryError

    start = time.monotonic()
    try:
        with judge_of(task_of(wanted, folder)) as judge:
            baselines, bytes_moved = judge.device.baselines, least_bytes(judge.interface)
            racing = baselines.workers  # of the others there are only the few calls by which they lost
            is_short = min(baselines.medians_us.values()) < SHORT_US
            replayed = all(baselines.each(partial(TimedWorker.capture, on=is_short)).values())
            calls: dict[str, list[float]] = {name: [] for name in racing}
            for _ in range(ROUNDS):
                inputs = judge.setup.reference.inputs(secrets.randbits(62))
                for name, reply in baselines.each(partial(TimedWorker.time_call, inputs=inputs)).items():
                    calls[name].append(reply.time.inside_us)
            times_us = {name: median(times) for name, times in calls.items()}
            found = {"baselines_us": rounded(baselines.medians_us | times_us), "replayed": replayed}
            if present_gpu():
                found["copy_us"] = round(1e6 * DeviceMemory().copy_s(bytes_moved), 1)
            found |= {"bytes": bytes_moved, "notes": baselines.notes}
            return found | {"seconds": round(time.monotonic() - start, 1)}
    except (KbError, OutOfMemoryError) as error:
        return {"error": str(error)}


def rounded(times_us: dict[str, float]) -> dict[str, float]:
    return {name: round(time_us, 1) for name, time_us in sorted(times_us.items(), key=lambda item: item[1])}


@contextmanager
def judge_of(task: Task) -> Iterator[TaskJudge]:
    isa = present_gpu() or Isa("cpu", os.uname().machine)
    judge = TaskJudge(task, "this machine", isa, [], call_s=CALL_S)
    try:
        yield judge
    finally:
        judge.close()


if __name__ == "__main__":
    main()

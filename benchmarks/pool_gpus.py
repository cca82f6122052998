"""Measure two GPUs against one of them, and whether the second disturbs the times of the first.

    python -m benchmarks.pool_gpus pack BATCH                           # where kb is installed
    python -m benchmarks.pool_gpus measure BATCH --out RESULT           # on the machine with the GPUs
    python -m benchmarks.pool_gpus beside BATCH --out RESULT            # there, too
    python -m benchmarks.pool_gpus starts --out RESULT                  # there, too

`measure`: the first GPU judges the batch on half of the cores, then both judge it on all of them; each is stopped after
the same time, long before the batch is judged, so that neither waits for a last task. Each starts its judges and
compiles its baselines anew. `beside`: the first judges copies of the reference (`judge_timing`) while the second judges
the batch. `starts`: how many processes a second begin and end to use a GPU, on one and on both: the judge has a process
of its own for each thing that it does with a candidate.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from multiprocessing import get_context
from pathlib import Path

import torch  # noqa: TID253 - its own process

from benchmarks.origin import write_result

OPERATIONS = (
    ("softmax", "ROWS", 2048), ("layernorm", "ROWS", 8192), ("rmsnorm", "ROWS", 4096), ("row_sum", "ROWS", 4096),
    ("gelu", "ROWS", 4096), ("cross_entropy", "ROWS", 1024), ("exclusive_cumsum", "ROWS", 2048),
    ("matmul", "ROWS", 1024),
)  # fmt: skip
"""Tasks of examples/, and a size of each that changes."""
TASKS = tuple(
    f"{name}.py@{dimension}={int(size * factor)}"
    for factor in (1, 0.5, 2, 0.75, 1.5)
    for name, dimension, size in OPERATIONS
)
"""As `sized_task` reads them."""
RIGHT = 2
"""Right candidates for each task. A wrong one is between them."""
TARGET, PAIRS = "h200", 40
STARTS, ROUNDS = 4, 2
"""Processes one after another, and how often."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=["pack", "measure", "beside", "starts"])
    parser.add_argument("batch", type=Path, nargs="?")
    parser.add_argument("--seconds", type=float, default=240, help="for which one and both judge")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.step == "pack":
        pack(options.batch)
    else:
        measure = {"measure": lambda: measured(options.batch, options.seconds), "beside": lambda: beside(options.batch)}
        found = measure.get(options.step, starts)()
        write_result(options.out, found, ("torch", "triton"))


def pack(folder: Path) -> None:
    """Write the batch: for each task the shipped template with several settings, and a wrong kernel after each."""
    import kb
    from benchmarks.judge_throughput import stream
    from benchmarks.sized_task import sized_task
    from eval.batch.pack import Entry
    from kb.runs.journal import Plan, SynthesizerKind
    from kb.types.protocols import Proposal
    from kb.usecases.packing import pack

    entries = []
    with kb.open() as home:
        for text in TASKS:
            task, operation = sized_task(text), text.partition(".py")[0].replace("_", "-")
            kernels = stream(operation, "triton", RIGHT, 1)[: 2 * RIGHT - 1]
            how = {"synthesizer": SynthesizerKind.EXTERNAL, "evaluations": len(kernels)}
            run = home.runs.start(Plan(task=task, target=TARGET, language="triton", **how)).id
            entries += [
                Entry(run=run, task=task, target=TARGET, proposal=Proposal(candidate=kernel, note=text))
                for kernel in kernels
            ]
        pack(home, folder, entries)


def measured(batch: Path, seconds: float) -> dict[str, object]:
    cores = halves()
    one = stopped(judging(batch, "one", "0", cores[0]), seconds)
    both = stopped(judging(batch, "both", "0,1", [*cores[0], *cores[1]]), seconds)
    return {
        "tasks": TASKS,
        "seconds": seconds,
        "one GPU, half of the cores": one,
        "two GPUs": both,
        "verdicts, two over one": round(both["verdicts"] / one["verdicts"], 2),
    }


def beside(batch: Path) -> dict[str, object]:
    cores = halves()
    neighbour = judging(batch, "neighbour", "1", cores[1])
    same = same_kernels(cores[0])
    was_busy = neighbour.poll() is None
    neighbour.terminate()
    found = same | {"the second judged until the end": was_busy}
    return {"the reference against itself on the first GPU, while the second judges": found}


def starts() -> dict[str, object]:
    """Processes a second that make their first tensor on a GPU and end, some at a time."""
    found = {
        f"{sharing} at a time on each of {gpus}": [started_a_second(gpus, sharing) for _ in range(ROUNDS)]
        for gpus, sharing in ((1, 1), (1, 4), (2, 4))
    }
    return {"processes a second that begin and end to use a GPU": found}


def started_a_second(gpus: int, sharing: int) -> float:
    context, began = get_context("fork"), time.monotonic()
    loops = [context.Process(target=start_again, args=(gpu,)) for gpu in range(gpus) for _ in range(sharing)]
    for loop in loops:
        loop.start()
    for loop in loops:
        loop.join()
    return round(len(loops) * STARTS / (time.monotonic() - began), 2)


def start_again(gpu: int) -> None:
    """Start processes on a GPU one after another, which have imported torch already."""
    os.environ["CUDA_VISIBLE_DEVICES"] = str(gpu)
    for _ in range(STARTS):
        process = get_context("fork").Process(target=lambda: torch.zeros(1, device="cuda"))
        process.start()
        process.join()


def halves() -> tuple[list[int], list[int]]:
    """The cores that this process may use, in two halves that share no physical core."""
    rows = subprocess.run(["lscpu", "-p=CPU,CORE,SOCKET"], capture_output=True, text=True, check=True).stdout
    places = [tuple(map(int, row.split(",")[:3])) for row in rows.splitlines() if not row.startswith("#")]
    usable = [cpu for cpu, _, _ in sorted(places, key=lambda p: (p[2], p[1])) if cpu in os.sched_getaffinity(0)]
    half = len(usable) // 2
    return usable[:half], usable[half:]


def judging(batch: Path, name: str, devices: str, cores: list[int]) -> subprocess.Popen[str]:
    """Start the judge of a copy of the batch, with no baselines compiled before."""
    copy = Path(f"{batch}-{name}")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(batch, copy)
    command = ["taskset", "-c", ",".join(map(str, cores)), sys.executable, "-m", "eval", "--devices", devices]
    return subprocess.Popen(command, cwd=copy, stdout=subprocess.PIPE, text=True)


def stopped(judge: subprocess.Popen[str], seconds: float) -> dict[str, int]:
    """What a judge has found after some seconds."""
    try:
        judge.wait(seconds)
    except subprocess.TimeoutExpired:
        judge.terminate()
    else:
        raise SystemExit("the batch is too small: its judges have ended")
    lines = judge.communicate()[0].splitlines()
    print("\n".join(lines), flush=True)
    missing = sum("no verdict" in line or "no such device" in line or "busy" in line for line in lines)
    verdicts = len(lines) - missing
    return {
        "verdicts": verdicts,
        "passed": sum(": passed" in line for line in lines),
        "missing": missing,
        "verdicts an hour": round(3600 * verdicts / seconds),
    }


def same_kernels(cores: list[int]) -> dict[str, object]:
    """What the judge says of copies of the reference, in a process that sees the first GPU alone."""
    code = (
        "import json\nfrom benchmarks import judge_timing as timing\n"
        f"each = {PAIRS} // len(timing.GPU_TASKS)\n"
        "print(json.dumps({name: timing.timed(plain, timing.GPU_KINDS['the same'], each, gpu=True)"
        " for name, plain in timing.GPU_TASKS.items()}))"
    )
    command = ["taskset", "-c", ",".join(map(str, cores)), sys.executable, "-c", code]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "0"}
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    print(run.stdout, flush=True)
    return dict(json.loads(run.stdout.splitlines()[-1])) if run.returncode == 0 else {"error": run.returncode}


if __name__ == "__main__":
    main()

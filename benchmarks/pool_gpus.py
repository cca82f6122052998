"""Measure two GPUs against one of them, and whether the second disturbs the times of the first.

    python -m benchmarks.pool_gpus pack BATCH                           # where kb is installed
    python -m benchmarks.pool_gpus measure BATCH --out RESULT           # on the machine with the GPUs

The batch is judged by both GPUs on all cores, and by the first alone on half of them. Then the first judges copies of
the reference (`judge_timing`) while the second judges the batch once more.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.origin import write_result

TASKS = (
    "softmax.py", "softmax.py@ROWS=8192,COLS=1024", "layernorm.py", "rmsnorm.py", "row_sum.py", "gelu.py",
    "cross_entropy.py", "exclusive_cumsum.py", "matmul.py", "matmul.py@ROWS=2048,INNER=2048,COLS=2048",
)  # fmt: skip
"""As `sized_task` reads them."""
RIGHT = 2
"""Right candidates for each task. A wrong one is between them."""
TARGET, PAIRS = "h200", 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=["pack", "measure"])
    parser.add_argument("batch", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.step == "pack":
        pack(options.batch)
    else:
        write_result(options.out, measured(options.batch), ("torch", "triton"))


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


def measured(batch: Path) -> dict[str, object]:
    cores = halves()
    both = finished(judging(batch, "both", "0,1", [*cores[0], *cores[1]]))
    one = finished(judging(batch, "one", "0", cores[0]))
    neighbour = judging(batch, "neighbour", "1", cores[1])
    same = same_kernels(cores[0])
    was_busy = neighbour[0].poll() is None
    neighbour[0].terminate()
    return {
        "tasks": TASKS,
        "two GPUs": both,
        "one of them, half of the cores": one,
        "verdicts an hour, two over one": round(both["verdicts an hour"] / one["verdicts an hour"], 2),
        "the reference against itself on the first GPU, while the second judges": same
        | {"the second judged until the end": was_busy},
    }


def halves() -> tuple[list[int], list[int]]:
    """The cores that this process may use, in two halves that share no physical core."""
    rows = subprocess.run(["lscpu", "-p=CPU,CORE,SOCKET"], capture_output=True, text=True, check=True).stdout
    places = [tuple(map(int, row.split(",")[:3])) for row in rows.splitlines() if not row.startswith("#")]
    usable = [cpu for cpu, _, _ in sorted(places, key=lambda p: (p[2], p[1])) if cpu in os.sched_getaffinity(0)]
    half = len(usable) // 2
    return usable[:half], usable[half:]


def judging(batch: Path, name: str, devices: str, cores: list[int]) -> tuple[subprocess.Popen[str], float]:
    """Start the judge of a copy of the batch, and say when."""
    copy = Path(f"{batch}-{name}")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(batch, copy)
    command = ["taskset", "-c", ",".join(map(str, cores)), sys.executable, "-m", "eval", "--devices", devices]
    return subprocess.Popen(command, cwd=copy, stdout=subprocess.PIPE, text=True), time.monotonic()


def finished(started: tuple[subprocess.Popen[str], float]) -> dict[str, float | int]:
    process, begun = started
    lines = process.communicate()[0].splitlines()
    seconds = time.monotonic() - begun
    print("\n".join(lines), f"\n{seconds:.0f} s", flush=True)
    missing = sum("no verdict" in line or "no such device" in line or "busy" in line for line in lines)
    verdicts = len(lines) - missing
    return {
        "verdicts": verdicts,
        "passed": sum(": passed" in line for line in lines),
        "missing": missing,
        "seconds": round(seconds, 1),
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

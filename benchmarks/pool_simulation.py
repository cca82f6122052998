"""Simulate a batch on many GPUs with recorded durations: `python -m benchmarks.pool_simulation`. Nothing is judged.

The candidates are placed as the judge places them (`eval/pool/`). A verdict has the durations of one that was recorded:
it compiles and waits for its baselines, and then, if it is timed, has the GPU in turn with the other judges there.
"""

import heapq
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from typing import Any

from eval.pool.cards import Job, parts
from eval.pool.judging import MOST_SHARING
from kb.types.kernels import Candidate
from kb.types.target import Isa

RECORDED, RESULT = (Path(__file__).parent / "results" / f"{name}.json" for name in ("judge-h200", "pool-simulation"))
BATCHES = {"250 tasks with 20 candidates each": (250, 20), "one task with 5,000 candidates": (1, 5000)}
FIRST = next(iter(BATCHES))
DEVICES, SEED = (1, 8, 64, 512), 20261129
GPU, CANDIDATE = Isa("cuda", "90"), Candidate(language="triton", source="pass")


@dataclass(frozen=True)
class Row:
    """A recorded verdict."""

    before_s: float
    """For compiling, and waiting for baselines."""
    judge_s: float
    timed: bool


def recorded_tasks(runs: Sequence[dict[str, Any]]) -> list[list[Row]]:
    """The recorded verdicts of each task in each run; its first ones have the costs that a judge has once."""
    found: dict[tuple[str, str], list[Row]] = {}
    for run in runs:
        for each in run["each"]:
            row = Row(each["compile, s"] + each["baselines, s"], each["judge, s"], each["outcome"] == "passed")
            found.setdefault((run["commit"], each["what"].partition(":")[0]), []).append(row)
    return list(found.values())


def simulated(queue: Sequence[Sequence[Row]], devices: int) -> dict[str, float]:
    """What judges on so many GPUs do with verdicts that belong together, in lists.

    Returns:
        Seconds until the last verdict, verdicts an hour, and shares of the GPUs' time, which add up to 1.
    """
    sharing = max(1, min(MOST_SHARING, len(queue) // devices))
    waiting = iter(queue)
    free_s, busy_s, until_s = [0.0] * devices, [0.0] * devices, [0.0] * devices
    events = [(0.0, judge, list[Row](), False) for judge in range(devices * sharing)]
    while events:
        now, judge, own, is_compiled = heapq.heappop(events)
        gpu = judge % devices
        if is_compiled:
            row = own.pop(0)
            start = max(now, free_s[gpu]) if row.timed else now
            end = start + row.judge_s
            if row.timed:
                free_s[gpu], busy_s[gpu] = end, busy_s[gpu] + row.judge_s
            until_s[gpu] = max(until_s[gpu], end)
            heapq.heappush(events, (end, judge, own, False))
        elif own or (own := list(next(waiting, []))):
            heapq.heappush(events, (now + own[0].before_s, judge, own, True))
    seconds = max(until_s)
    timing, judging = mean(busy_s) / seconds, mean(until_s) / seconds
    return {
        "judges a GPU": sharing,
        "seconds": round(seconds),
        "verdicts an hour": round(sum(map(len, queue)) / seconds * 3600),
        "times a kernel": round(timing, 3),
        "idle: its judges compile, compare or wait for baselines": round(judging - timing, 3),
        "idle: no candidate is left": round(1 - judging, 3),
    }


def batch_on(devices: int, size: tuple[int, int], recorded: Sequence[list[Row]], most: int = 5000) -> dict[str, float]:
    """A batch in lists of at most so many for the same task, with durations drawn from those of a recorded task."""
    draw, (tasks, candidates) = random.Random(SEED), size
    kinds = [draw.choice(recorded) for _ in range(tasks)]
    names = [(str(number % tasks), "gpu") for number in range(tasks * candidates)]
    jobs = [Job(number, CANDIDATE, name, name, GPU) for number, name in enumerate(names)]
    queue = list[list[Row]]()
    for part in parts(jobs, devices):
        first, *later = kinds[int(part[0].task[0])]
        lists = (part[at + 1 : at + most] for at in range(0, len(part), most))
        queue += ([first, *(draw.choice(later) for _ in others)] for others in lists)
    return simulated(queue, devices)


def main() -> None:
    runs = json.loads(RECORDED.read_text())["verdicts an hour on models' kernels"]["runs"]
    recorded = recorded_tasks(runs)
    found: dict[str, Any] = {
        "about": "a simulation with durations of judge-h200.json; no GPU was used",
        "date": datetime.now(UTC).date().isoformat(),
        "command": "python -m benchmarks.pool_simulation",
        "seed": SEED,
        "recorded batches on one GPU": [
            {"recorded, s": run["seconds"], "simulated": simulated(recorded_tasks([run]), 1)} for run in runs
        ],
    } | {
        name: [{"GPUs": devices} | batch_on(devices, size, recorded) for devices in DEVICES]
        for name, size in BATCHES.items()
    }
    found[f"{FIRST}, on 64 GPUs, in shorter lists"] = [
        {"longest": most} | batch_on(64, BATCHES[FIRST], recorded, most) for most in (20, 10, 5, 2)
    ]
    RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

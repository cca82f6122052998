"""Measure how seconds and memory grow with a library of skills, with a run, and with a campaign, all made up.

    python -m benchmarks.growth --work FOLDER --out benchmarks/results/growth.json

Each number is the median of three measurements, each in a process of its own; one that takes longer than LONG_S is not
repeated. The exponent is the slope between the two larger sizes on logarithmic axes: 1 if ten times the size takes ten
times the time. A command's time includes its start. A picture beside the result shows all times.
"""

import argparse
import json
import os
import resource
import statistics
from math import log
from pathlib import Path
from typing import Any

from benchmarks.growth_parts import SUBJECTS
from benchmarks.origin import write_result
from benchmarks.scale import alone, memory_mb

ROUNDS, LONG_S = 3, 20.0


def measured(subject: str, name: str, home: Path) -> tuple[float, int]:
    """Seconds of a measurement, and the most memory in MB that this process took, or the command that it started."""
    seconds = SUBJECTS[subject].measures[name](home)
    started = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 // 10**6
    return seconds, started if name.startswith("kb ") else memory_mb()["peak MB"]


def row(subject: str, name: str, homes: dict[int, Path]) -> dict[str, Any]:
    found: dict[str, dict[str, float]] = {}
    for size, home in homes.items():
        runs = [alone(measured, subject, name, home)]
        while len(runs) < ROUNDS and runs[0][0] < LONG_S:
            runs.append(alone(measured, subject, name, home))
        seconds, memory = (statistics.median(values) for values in zip(*runs, strict=True))
        found[str(size)] = {"s": float(f"{seconds:.3g}"), "peak MB": round(memory), "n": len(runs)}
        print(f"{subject}: {name}: {size:,}: {found[str(size)]}", flush=True)
    return {"sizes": found, "exponent": exponent({int(size): each["s"] for size, each in found.items()})}


def exponent(seconds: dict[int, float]) -> float:
    (size, less), (larger, more) = [*seconds.items()][-2:]
    return round(log(more / less) / log(larger / size), 2)


def drawn(result: dict[str, Any], file: Path) -> None:
    """Draw seconds over size; a dotted line grows as the size does."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 6), layout="constrained")
    for axes, (name, subject) in zip(figure.subplots(1, len(SUBJECTS)), SUBJECTS.items(), strict=True):
        for what, each in result[name].items():
            times = [at["s"] for at in each["sizes"].values()]
            axes.plot(subject.sizes, times, marker="o", label=f"{what} ({each['exponent']:.2f})")
        axes.plot(
            subject.sizes,
            [size / subject.sizes[-1] for size in subject.sizes],
            ":",
            color="gray",
            label="in proportion to the size (1)",
        )
        axes.set(xscale="log", yscale="log", xlabel=subject.grows, ylabel="seconds", title=f"a {name}")
        axes.set_xticks(subject.sizes, [f"{size:,}" for size in subject.sizes])
        axes.minorticks_off()
        axes.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.13), title="(exponent)")
    figure.savefig(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--work", type=Path, required=True, help="homes are kept here; each run of this adds a few entries"
    )
    parser.add_argument("--only", choices=SUBJECTS, nargs="+", default=[*SUBJECTS])
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    result: dict[str, Any] = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else {}
    for subject in options.only:
        homes = {size: options.work / subject / str(size) for size in SUBJECTS[subject].sizes}
        for size, home in homes.items():
            if not home.exists():
                home.mkdir(parents=True)
                SUBJECTS[subject].make(home, size)
        result[subject] = {name: row(subject, name, homes) for name in SUBJECTS[subject].measures}
        result["load average"] = result.get("load average", {}) | {subject: round(os.getloadavg()[0], 1)}
        kept = {name: result[name] for name in (*SUBJECTS, "load average", "before") if name in result}
        write_result(options.out, kept, ("kb-hardware",))
    if all(subject in result for subject in SUBJECTS):
        drawn(result, options.out.with_suffix(".svg"))


if __name__ == "__main__":
    main()

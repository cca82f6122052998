"""Compare how much cold, random and warm runs need, over the tasks of several results of `skills.py`.

    python -m benchmarks.skills_together benchmarks/results/skills-cpu.json benchmarks/results/skills-h100.json \\
        --out benchmarks/results/skills-together.json

One device alone has too few tasks for narrow intervals. The ratios are geometric means over pairs of runs.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from kb.bench.skill_scores import Group, Trial, ratio, reached_by
from kb.types.skills_report import Arm

ORIGIN = ("date", "commit", "device")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    text = json.dumps(together(options.results), indent=1)
    options.out.write_text(text + "\n", encoding="utf-8")
    print(text)


def together(files: Sequence[Path]) -> dict[str, object]:
    """The origins of the results, and what cold and random runs need as a multiple of what warm ones need."""
    results = {file.name: json.loads(file.read_bytes()) for file in files}
    found: dict[str, object] = {
        "results": {name: {key: result[key] for key in ORIGIN} for name, result in results.items()},
        "tasks": sum(len(result["tasks"]) for result in results.values()),
    }
    for measure in ("evaluations", "seconds"):
        warm = needed(results, Arm.WARM, measure)
        for arm in (Arm.COLD, Arm.RANDOM):
            multiple = ratio(needed(results, arm, measure), warm)
            found[f"{measure} that a {arm} run needs as a multiple of a warm one"] = multiple.model_dump()
    return found


def needed(results: Mapping[str, Any], arm: Arm, measure: str) -> Group:
    """The evaluations or seconds that the runs of an arm needed until a kernel was near the best, by task."""
    found: dict[str, list[float]] = {}
    for name, result in results.items():
        best = {task["task"]: task["best"] for task in result["tasks"]}
        trials = sorted(map(Trial.model_validate, result["trials"]), key=attrgetter("seed"))
        for trial in trials:
            if trial.arm is arm and trial.task in best:
                reached = reached_by(trial.steps, best[trial.task], result["evaluations"])
                found.setdefault(f"{name} {trial.task}", []).append(getattr(reached, measure))
    return found


if __name__ == "__main__":
    main()

"""How much longer cold and random runs need than warm ones, over the tasks of several results of `skills.py`.

    python -m benchmarks.skills_together benchmarks/results/skills-cpu.json benchmarks/results/skills-h100.json \\
        --out benchmarks/results/skills-together.json

On one device alone there are too few tasks for narrow intervals.
"""

import argparse
import json
from operator import attrgetter
from pathlib import Path

from kb.bench.skill_scores import Group, Trial, ratio, reached_by
from kb.model.skills_report import Arm


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    found: dict[str, object] = {"results": [file.name for file in options.results]}
    for measure in ("evaluations", "seconds"):
        warm = values(options.results, Arm.WARM, measure)
        found["tasks"] = len(warm)
        for arm in (Arm.COLD, Arm.RANDOM):
            found[f"{measure} of a {arm} run over those of a warm one"] = ratio(
                values(options.results, arm, measure), warm
            ).model_dump()
    text = json.dumps(found, indent=1)
    options.out.write_text(text + "\n", encoding="utf-8")
    print(text)


def values(files: list[Path], arm: Arm, measure: str) -> Group:
    """What the runs of an arm needed until a kernel was near the best, by file and task."""
    found: dict[str, list[float]] = {}
    for file in files:
        result = json.loads(file.read_bytes())
        best = {task["task"]: task["best"] for task in result["tasks"]}
        trials = sorted(map(Trial.model_validate, result["trials"]), key=attrgetter("seed"))
        for trial in trials:
            if trial.arm is arm and trial.task in best:
                reached = reached_by(trial.steps, best[trial.task], result["evaluations"])
                found.setdefault(f"{file.name} {trial.task}", []).append(getattr(reached, measure))
    return found


if __name__ == "__main__":
    main()

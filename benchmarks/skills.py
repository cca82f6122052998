"""Measure what skills are worth to `tune`, on tasks that are in no evidence.

    python -m benchmarks.skills --target cpu-x86 --verdicts skills-cpu.jsonl --out benchmarks/results/skills-cpu.json

The result is that of `kb bench skills` on TASKS, and names device, versions and commit. `--minutes` bounds the time;
the same command goes on where it stopped.
"""

import argparse
import json
import time
from pathlib import Path

import kb as knowledge
from benchmarks.origin import origin
from kb.bench.skills import SkillsBench, Verdicts, sized_task
from kb.cli.skills_bench_report import show_skills_report, show_trial

EXAMPLES = Path(__file__).parents[1] / "examples"
TASKS = (
    "int8_matvec.py", "int8_matvec.py@INNER=4096,OUTER=16384", "int8_matvec_wide.py",
    "row_sum.py", "row_sum.py@ROWS=256,COLS=65536", "row_sum.py@ROWS=65536,COLS=512",
    "cross_entropy.py", "cross_entropy.py@ROWS=4096,CLASSES=4096",
    "exclusive_cumsum.py", "exclusive_cumsum.py@ROWS=256,COLS=65536",
    "softmax.py", "softmax.py@ROWS=16384,COLS=1024",
    "rmsnorm.py", "rmsnorm.py@ROWS=512,COLS=32768",
    "layernorm.py", "layernorm.py@ROWS=1024,COLS=16384",
)  # fmt: skip
"""Each operation at two or three sizes, of about the same number of elements but other rows."""
LIBRARIES = ("kb-hardware", "torch", "triton")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", required=True)
    parser.add_argument("--verdicts", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--evaluations", type=int, default=12)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--minutes", type=float)
    options = parser.parse_args()
    tasks = [sized_task(str(EXAMPLES / text)) for text in TASKS]
    deadline = time.monotonic() + 60 * options.minutes if options.minutes else None
    with knowledge.open() as kb:
        bench = SkillsBench(
            kb,
            tasks,
            Verdicts(options.verdicts),
            target=options.target,
            evaluations=options.evaluations,
            deadline=deadline,
        )
        found = bench.measure(options.seeds, tell=show_trial)
    show_skills_report(found)
    trials = [trial.model_dump(mode="json") for trial in bench.trials]
    result = origin(LIBRARIES) | found.model_dump(mode="json") | {"trials": trials}
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

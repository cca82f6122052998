"""Measure what skills are worth to `tune`, on tasks that are in no evidence.

    python -m benchmarks.skills --target cpu-x86 --small --verdicts skills-cpu.jsonl \\
        --out benchmarks/results/skills-cpu.json

The result is that of `kb bench skills` on LARGE tasks, or on SMALL ones, and names device, versions and commit.
`--minutes` bounds the time; the same command goes on where it stopped.
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
LARGE = (
    "cross_entropy.py", "cross_entropy.py@ROWS=4096,CLASSES=8000", "cross_entropy.py@ROWS=256,CLASSES=128000",
    "exclusive_cumsum.py", "exclusive_cumsum.py@ROWS=256,COLS=65536", "exclusive_cumsum.py@ROWS=16384,COLS=1024",
    "softmax.py", "softmax.py@ROWS=4096,COLS=8192",
)  # fmt: skip
"""For GPUs: each operation at several sizes. On an H200 the templates of other operations won nothing at the sizes that
were tried (best of their grids against torch.compile: .72 to .99, and once 1.08)."""
SMALL = (
    "exclusive_cumsum.py@ROWS=512,COLS=1024", "exclusive_cumsum.py@ROWS=64,COLS=8192",
    "exclusive_cumsum.py@ROWS=2048,COLS=256",
    "cross_entropy.py@ROWS=256,CLASSES=8000", "cross_entropy.py@ROWS=1024,CLASSES=2000",
    "cross_entropy.py@ROWS=64,CLASSES=32000",
    "int8_matvec.py@INNER=4096,OUTER=1024", "int8_matvec.py@INNER=1024,OUTER=4096",
)  # fmt: skip
"""For CPUs with few cores: a verdict takes seconds, and torch can be beaten."""
LIBRARIES = ("kb-hardware", "torch", "triton")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", required=True)
    parser.add_argument("--verdicts", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--evaluations", type=int, default=12)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--small", action="store_true", help="for a CPU with few cores")
    parser.add_argument("--tasks", nargs="+", help="other tasks: FILE or FILE@NAME=SIZE,... of examples/")
    options = parser.parse_args()
    tasks = [sized_task(str(EXAMPLES / text)) for text in options.tasks or (SMALL if options.small else LARGE)]
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

"""Audit the problems of KernelBench as tasks on this machine.

    python -m benchmarks.kernelbench KernelBench --out benchmarks/results/kernelbench-audit.json

The result has a line for each problem, and names device, versions and commit. `--keep FILE.jsonl` keeps what is done if
the command is interrupted.
"""

import argparse
from collections import Counter
from pathlib import Path

from benchmarks.origin import write_result
from kb.bench.kernelbench import Results, find_problems, run_audits

LEVELS = (1, 2, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    results = Results(options.keep)
    problems = find_problems(options.folder, LEVELS, None)
    run_audits(problems, results, lambda line: print(line.problem, line.audit.verdict, line.audit.reason))
    audits = {line.problem: line.audit for line in results.lines}
    found = {
        "seconds of all audits": round(sum(a.seconds for a in audits.values())),
        "verdicts": {
            f"level {level}": Counter(a.verdict for name, a in audits.items() if name.startswith(f"level{level}/"))
            for level in LEVELS
        },
        "with sizes to change": sum(bool(a.sizes) for a in audits.values()),
        "random": sorted(name for name, a in audits.items() if a.random),
        "degenerate": {name: a.degenerate for name, a in sorted(audits.items()) if a.degenerate},
        "problems": [{"problem": p.name} | shown(audits[p.name].model_dump(mode="json")) for p in problems],
    }
    write_result(options.out, found)


def shown(audit: dict) -> dict:
    return {name: value for name, value in audit.items() if name not in ("task", "task_digest") and value}


if __name__ == "__main__":
    main()

"""Write the tasks with published times as files, for campaign-h200-published.toml.

    python -m benchmarks.published_tasks KernelBench published

Its sizes and data types are those of PUBLISHED in judge_baselines.py. Level 1's task 4 is left out: in bfloat16 its
reference gives the same outputs on other inputs, so that the judge refuses it.
"""

import argparse
import re
from pathlib import Path

from benchmarks.judge_baselines import PUBLISHED, task_of

REFUSED = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernelbench", type=Path)
    parser.add_argument("folder", type=Path, help="the files are written into it")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for wanted in PUBLISHED:
        if wanted.what != REFUSED:
            task = task_of(wanted, options.kernelbench)
            name = re.sub(r"\W+", "_", f"{task.name}_{wanted.dtype}")
            (options.folder / f"{name}.py").write_text(task.source, encoding="utf-8")


if __name__ == "__main__":
    main()

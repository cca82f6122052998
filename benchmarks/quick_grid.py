"""Measure the quick times of all settings of shipped C++ kernels, in passes of shuffled order, for `replay.py`.

    nice -n 5 python -m benchmarks.quick_grid matmul-cpp row-sum-cpp --folder grids

Each pass times each setting once with the judge's `estimate`. Kernels run on one thread: with two on a busy machine of
two cores, equal calls differed by a factor of 2. A command that was stopped goes on with the files in the folder.
"""

import argparse
import json
import platform
import random
import re
from itertools import product
from pathlib import Path

from benchmarks.origin import origin
from benchmarks.sized_task import sized_task
from eval.judge.driver import LocalJudge
from kb.settings import cache_dir
from kb.types.kernels import Candidate
from kb.types.target import CPU, Isa

SKILLS = Path(__file__).parents[1] / "kb" / "skills"
LIBRARIES = ("kb-hardware", "torch")
PASSES = 2
TASKS = {
    "matmul-cpp": "matmul.py@ROWS=512,INNER=512,COLS=512",
    "int8-matvec-cpp": "int8_matvec.py@INNER=4096,OUTER=4096",
    "row-sum-cpp": "row_sum.py@ROWS=1024",
    "cross-entropy-cpp": "cross_entropy.py@ROWS=128",
}
"""Sizes at which a call takes about a millisecond."""
CHOICES: dict[str, dict[str, tuple[int, ...]]] = {
    "matmul-cpp": {"ROWS": (2, 4, 6, 8), "BAND": (48, 96, 192)},
    "int8-matvec-cpp": {
        "ROWS": (1, 2, 3, 4, 6, 8),
        "WIDTH": (16, 32, 48, 64, 96, 128),
        "PREFETCH": (0, 512, 1024, 2048, 4096),
        "CHUNK": (16,),
    },
    "row-sum-cpp": {
        "ROWS": (1, 2, 3, 4, 6, 8),
        "WIDTH": (16, 32, 48, 64, 96, 128),
        "PREFETCH": (0, 256, 512, 1024, 4096),
        "CHUNK": (1,),
    },
    "cross-entropy-cpp": {
        "BLOCK": (256, 512, 1024, 2048, 4096, 8192, 16384),
        "LANES": (4, 8, 16, 32, 64),
        "AHEAD": (0, 1, 2, 3),
        "CHUNK": (1,),
    },
}
"""Choices in place of the kernel's own. CHUNK, which divides rows among threads, has one; the others have more."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", nargs="+", choices=TASKS)
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.kernels:
        measure(name, options.folder / f"{name}.jsonl")


def measure(name: str, file: Path) -> None:
    """Measure what a file lacks. Its first line holds the grid and its origin, each further line one time."""
    kernel = with_choices((SKILLS / name / "scripts" / "kernel.cpp").read_text(encoding="utf-8"), CHOICES[name])
    space = kernel.parameters
    if not file.exists():
        first = {"task": TASKS[name], "space": [p.model_dump() for p in space], "origin": origin(LIBRARIES)}
        file.write_text(json.dumps(first) + "\n", encoding="utf-8")
    done = {(row["pass"], *row["values"].values()) for row in map(json.loads, file.read_text().splitlines()[1:])}
    with (
        file.open("a", encoding="utf-8") as out,
        LocalJudge(
            sized_task(TASKS[name]), target="cpu-x86", isa=Isa(CPU, platform.machine()), facts=(), cache=cache_dir(),
            environment={"OMP_NUM_THREADS": "1"},
        ) as judge,
    ):  # fmt: skip
        for number in range(PASSES):
            grid = list(product(*(p.choices for p in space)))
            random.Random(number).shuffle(grid)
            for point in (point for point in grid if (number, *point) not in done):
                values = dict(zip((p.name for p in space), point, strict=True))
                estimate = judge.estimate(kernel.with_parameters(values))
                row = {"pass": number, "values": values, "time_us": estimate.time_us, "detail": estimate.detail}
                print(json.dumps(row), file=out, flush=True)


def with_choices(source: str, choices: dict[str, tuple[int, ...]]) -> Candidate:
    """The kernel with other choices of some of its parameters."""
    for name, values in choices.items():
        listed = ", ".join(map(str, values))
        source = re.sub(rf"^(constexpr int {name} = .*// tune: ).*$", rf"\g<1>{listed}", source, flags=re.M)
    return Candidate(language="cpp", source=source)


if __name__ == "__main__":
    main()

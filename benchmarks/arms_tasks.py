"""Draw the tasks of `search-arms-cpu.toml` from KernelBench, and write them at sizes for two cores.

    python -m benchmarks.arms_tasks KERNELBENCH FOLDER --draw        # as they were drawn: it times each reference
    python -m benchmarks.arms_tasks KERNELBENCH FOLDER               # the same tasks and sizes again, from the draw

The rule was written before the first answer: the first four of each level, in an order shuffled with a seed, of which
no two begin with the same kind of operation, and whose eager reference takes 2 to 100 ms on this CPU after its sizes
were halved, the largest first, until it has at most 1 Gflop and 64 MiB of tensors. `LEFT_OUT` names what is not drawn.
Two draws came before: one at 2 Gflop and without the part on kinds, which gave four matrix products with elementwise
operations in level 2; and one that could not halve `height = width = 128`, which found one task in level 2.
KernelBench's sources (MIT) stay outside the project.
"""

import argparse
import ast
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import torch  # noqa: TID253 - its own process
from torch.utils.flop_counter import FlopCounterMode  # noqa: TID253

from eval.oracle.constants import integer_constants, with_sizes
from eval.oracle.task import load_task
from kb.types.kernels import Task

DRAWN = Path(__file__).with_name("search-arms-cpu-draw.json")
EARLIER = Path(__file__).with_name("campaign-draw.json")
LEVELS, EACH, SEED = ("level1", "level2"), 4, 39
MOST_FLOP, MOST_BYTES, LEAST_SIZE = 1e9, 64 << 20, 16
TIMES_MS = (2.0, 100.0)
CALLS = 5
SAME = {"Gemm": "Matmul", "BMM": "Matmul"}
"""Names of tasks that begin with the first word count as the kind of the second."""
LEFT_OUT = {
    "level1": {4, 23, 26, 27, 34, 36, 40, 47, 50, 88, 91, 92, 95, 98, *range(1, 4), *range(6, 10), *range(16, 19)},
    "level2": {4, 27, 34, 36, 51, 66, 80, 83},
}
"""By number: what the campaign on a GPU drew, what kernelbench-audit.json refuses, and the operations of examples/ and
of kernels that ship: matrix product, softmax, GELU, normalizations of rows, sums of rows, sums from the end or without
the element itself, cross entropy."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernelbench", type=Path, help="the folder with level1 and level2")
    parser.add_argument("folder", type=Path, help="where the tasks are written, as level1/NAME.py")
    parser.add_argument("--draw", action="store_true")
    options = parser.parse_args()
    if options.draw:
        tasks = {name: found for level in LEVELS for name, found in draw(options.kernelbench, level)}
        DRAWN.write_text(json.dumps({"rule": "see arms_tasks.py", "seed": SEED, "tasks": tasks}, indent=1) + "\n")
    for name, found in json.loads(DRAWN.read_text(encoding="utf-8"))["tasks"].items():
        file = options.folder / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(sized(options.kernelbench / f"{name}.py", found["sizes"]), encoding="utf-8")


def draw(kernelbench: Path, level: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The drawn tasks of a level, each with its sizes and how long its reference takes."""
    earlier = {*json.loads(EARLIER.read_text(encoding="utf-8"))["tasks"]}
    files = sorted(kernelbench.glob(f"{level}/*.py"))
    random.Random(SEED).shuffle(files)
    kinds = set[str]()
    for file in files:
        name, (number, kind, *_) = f"{level}/{file.stem}", re.split("[_ ]+", file.stem)
        kind = SAME.get(kind, kind)
        if len(kinds) == EACH or kind in kinds or name in earlier or int(number) in LEFT_OUT[level]:
            continue
        sizes = small_sizes(file)
        took_ms = eager_ms(sized(file, sizes)) if sizes else None
        is_drawn = took_ms is not None and TIMES_MS[0] <= took_ms <= TIMES_MS[1]
        print(name, sizes, took_ms, "drawn" if is_drawn else "passed over", flush=True)
        if is_drawn:
            kinds.add(kind)
            yield name, {"sizes": sizes, "eager_ms": round(took_ms or 0.0, 1)}


def small_sizes(file: Path) -> dict[str, int] | None:
    """The sizes that are small enough; None if there are none, or the reference fails with them."""
    sizes = integer_constants(flat(file))
    while sizes and max(sizes.values()) > LEAST_SIZE:
        try:
            flop, size_bytes = needs(sized(file, sizes))
        except Exception:  # noqa: BLE001 - whatever the reference raises, it is not drawn
            return None
        if flop <= MOST_FLOP and size_bytes <= MOST_BYTES:
            return sizes
        largest = max(sizes, key=sizes.__getitem__)
        sizes = {**sizes, largest: sizes[largest] // 2}
    return None


def sized(file: Path, sizes: dict[str, int]) -> str:
    """The source of a task at these sizes."""
    return f"{ast.unparse(with_sizes(flat(file), sizes))}\n"


def flat(file: Path) -> Task:
    """The task with one name in each assignment, as sizes are read: not `height = width = 128` or `a, b = 1, 2`."""
    task = load_task(file)
    tree, body = ast.parse(task.source), list[ast.stmt]()
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            body.append(node)
            continue
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = [*zip(target.elts, node.value.elts, strict=True)]
            body += [ast.Assign(targets=[one], value=value) for one, value in pairs]
    tree.body = body
    return task.model_copy(update={"source": ast.unparse(ast.fix_missing_locations(tree))})


def needs(source: str) -> tuple[float, int]:
    """Floating-point operations of products, and bytes of inputs, parameters and outputs, of one call."""
    with torch.device("meta"), torch.no_grad(), FlopCounterMode(display=False) as counted:
        model, inputs = loaded(source)
        outputs = model(*inputs)
    tensors = [*inputs, *model.parameters(), outputs]
    return counted.get_total_flops(), sum(t.numel() * t.element_size() for t in tensors if torch.is_tensor(t))


def eager_ms(source: str) -> float:
    """The median time of some calls after the first."""
    times = []
    with torch.no_grad():
        model, inputs = loaded(source)
        for _ in range(1 + CALLS):
            start = perf_counter()
            model(*inputs)
            times.append(1e3 * (perf_counter() - start))
    return median(times[1:])


def loaded(source: str) -> tuple[Any, list[Any]]:
    """The model and its inputs. A task's Python is trusted code."""
    names: dict[str, Any] = {}
    exec(compile(source, "task", "exec"), names)
    torch.manual_seed(SEED)
    return names["Model"](*names["get_init_inputs"]()), names["get_inputs"]()


if __name__ == "__main__":
    main()

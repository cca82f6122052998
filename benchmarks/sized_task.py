"""Tasks of `examples/`, at the sizes of their files or at others."""

import ast
from pathlib import Path

from eval.oracle.constants import integer_constants, with_sizes
from eval.oracle.task import load_task
from kb.types.kernels import Task

EXAMPLES = Path(__file__).parents[1] / "examples"


def sized_task(text: str) -> Task:
    """The task of `FILE` or `FILE@NAME=SIZE,...` of examples/. Exits with a message if the file has no such size."""
    file, _, changes = text.partition("@")
    task = load_task(EXAMPLES / file)
    sizes = dict(change.partition("=")[::2] for change in filter(None, changes.split(",")))
    for name, size in sizes.items():
        if name not in integer_constants(task) or not size.isdigit():
            raise SystemExit(f"{text}: {name}={size} is not a size; {file} has {', '.join(integer_constants(task))}")
    if not sizes:
        return task
    changed = ast.unparse(with_sizes(task, {name: int(size) for name, size in sizes.items()}))
    return task.model_copy(update={"source": f"{changed}\n", "workloads": ()})

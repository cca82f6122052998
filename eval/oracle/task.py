"""Read tasks from files. Nothing is executed here."""

import ast
from pathlib import Path

from eval.oracle.definition import task_source, workload_file
from kb.errors import KbError, TaskError
from kb.storage import slug
from kb.types.kernels import Precision, Task

TASK_NAMES = ("Model", "get_inputs", "get_init_inputs")
MAX_SOURCE_BYTES = 1 << 20
MOST_LEVELS = 200
"""Of a task's syntax tree: what walks it by recursion goes no deeper."""


def load_task(path: Path, precision: str = Precision.DEFAULT) -> Task:
    """A task in KernelBench's form, or one made of a kernel definition in JSON; see eval.oracle.definition.

    Args:
        precision: A `Precision`.

    Raises:
        TaskError: there is no such file, it is not Python, or one of the three names is missing.
    """
    if path.suffix == ".json":
        file = workload_file(path)
        name, source, workloads = task_source(
            read_source(path, TaskError), read_source(file, TaskError) if file else "", place=str(path)
        )
        task = task_of(source, name=name, place=str(path)).model_copy(update={"workloads": workloads})
    else:
        task = task_of(read_source(path, TaskError), name=path.stem, place=str(path))
    return task.model_copy(update={"precision": Precision(precision)})


def task_of(source: str, *, name: str, place: str) -> Task:
    """A task from its source; errors as in `load_task` name `place`."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # the last two: nested too deep
        raise TaskError(f"{place} is not valid Python: {error}", hint="correct it") from error
    level: list[ast.AST] = [tree]
    for _ in range(MOST_LEVELS):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise TaskError(f"{place} is nested more than {MOST_LEVELS} levels deep", hint="write it in several statements")
    defined = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    if missing := [name for name in TASK_NAMES if name not in defined]:
        raise TaskError(
            f"{place} is not a task: it does not define {' and '.join(missing)}",
            hint="a task defines class Model and the functions get_inputs and get_init_inputs, as in KernelBench",
        )
    return Task(name=slug(name) or "task", source=source)


def read_source(path: Path, error_type: type[KbError]) -> str:
    """The text of a source file. Raises an error of the given type if it cannot be read."""
    try:
        if path.stat().st_size > MAX_SOURCE_BYTES:
            raise error_type(f"{path} is larger than {MAX_SOURCE_BYTES} bytes", hint="a kernel is a small file")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise error_type(f"{path} cannot be read: {error}", hint="give a Python or C++ source file") from error

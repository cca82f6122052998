"""The numbers that a task's file assigns to names at its top level: its sizes, and what its workloads change."""

import ast
from collections.abc import Callable, Mapping

from kb.types.kernels import Task, Workload


def integer_constants(task: Task) -> dict[str, int]:
    """The sizes of a task: integers, products of integers and tuples of them, assigned at the top level of its file.

    `ROWS = 4096` and `N = 1024 * 2` give `ROWS` and `N`; `shape = (64, 32)` gives `shape[0]` and `shape[1]`, and
    `height, width = 64, 32` gives `height` and `width`. `height = width = 64` gives `height`; `width` changes with it.
    """
    found: dict[str, int] = {}
    _change_all(ast.parse(task.source), lambda name, value: found.setdefault(name, value))
    return found


def at_workload(task: Task, workload: Workload) -> Task:
    """The task with the values of one of its workloads, and with no other."""
    tree = ast.parse(task.source)
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if isinstance(target, ast.Name) and target.id in workload:
                node.value = ast.Constant(workload[target.id])
    source = f"{ast.unparse(ast.fix_missing_locations(tree))}\n"
    return task.model_copy(update={"source": source, "workloads": ()})


def with_sizes(task: Task, sizes: Mapping[str, int]) -> ast.Module:
    """Parse the file of a task and give the names of its sizes other values."""
    tree = ast.parse(task.source)
    _change_all(tree, lambda name, value: sizes.get(name, value))
    return ast.fix_missing_locations(tree)


def _change_all(tree: ast.Module, change: Callable[[str, int], int]) -> None:
    """Apply `change` to each integer that is assigned to a name at the top level."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name), *_]):
                node.value = _replaced(node.value, name, change)
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values) as whole):
                if [*map(type, names)] == [ast.Name] * len(values):
                    pairs = zip(names, values, strict=True)
                    whole.elts = [_replaced(value, ast.unparse(name), change) for name, value in pairs]


def _replaced(node: ast.expr, name: str, change: Callable[[str, int], int]) -> ast.expr:
    """The expression with `change` applied to each integer in it; the rest stays the same."""
    if isinstance(node, ast.Tuple | ast.List):
        node.elts = [_replaced(part, f"{name}[{i}]", change) for i, part in enumerate(node.elts)]
        return node
    value = _integer(node)
    return node if value is None else ast.Constant(change(name, value))


def _integer(node: ast.expr) -> int | None:
    """The value of an integer or a product of integers."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _integer(node.left), _integer(node.right)
        return None if left is None or right is None else left * right
    return None

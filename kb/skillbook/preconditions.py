"""Check the preconditions of a skill against a task's tensors and the tools of this machine."""

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from kb.types.kernels import Interface
from kb.types.skill import Preconditions

_COMPARE: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
_COMPUTE: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
}  # fmt: skip
_SIZES = ("rows", "cols", "count")
_NAME = re.compile(r"[^<>=!~]+")
_VERSION = re.compile(r"\d+(?:\.\d+)+")


def check(preconditions: Preconditions) -> None:
    """Raises ValueError, which names what is wrong, if the condition on sizes or a tool's versions cannot be read."""
    sizes_hold(preconditions.shapes, dict.fromkeys(_SIZES, 1))
    list(_tools(preconditions.toolchain))


def unmet(preconditions: Preconditions, interface: Interface, versions: Callable[[], Mapping[str, str]]) -> str:
    """Why a skill does not apply to the tensors of a task, in words; empty if it does.

    Args:
        versions: Gives the versions of the installed tools by name; a tool that is not among them is not checked.
    """
    tensors = (*interface.inputs, *interface.state, *interface.outputs)
    others = {tensor.dtype for tensor in tensors} - set(preconditions.dtypes)
    if preconditions.dtypes and others:
        return f"it is for {' and '.join(preconditions.dtypes)}; the task has {' and '.join(sorted(others))}"
    sizes = interface.sizes
    if not sizes_hold(preconditions.shapes, sizes):
        stated = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        return f"its condition on sizes is {preconditions.shapes}; the task has {stated}"
    for name, wanted in _tools(preconditions.toolchain):
        found = _VERSION.search(versions().get(name, ""))
        if found and not wanted.contains(Version(found[0]), prereleases=True):
            return f"it needs {name}{wanted}; here is {found[0]}"
    return ""


def sizes_hold(condition: str, sizes: Mapping[str, int]) -> bool:
    """Whether a condition on sizes holds; an empty one always does.

    It compares sums, differences, products and remainders of sizes and whole numbers, joined by `and`, `or`, `not`.

    Raises:
        ValueError: it is written in another way.
    """
    if not condition.strip():
        return True
    try:
        tree = ast.parse(condition.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"{condition!r} is not a condition on sizes") from error
    return _truth(tree, sizes)


def _truth(node: ast.expr, sizes: Mapping[str, int]) -> bool:
    match node:
        case ast.BoolOp():
            parts = [_truth(part, sizes) for part in node.values]
            return all(parts) if isinstance(node.op, ast.And) else any(parts)
        case ast.UnaryOp(op=ast.Not()):
            return not _truth(node.operand, sizes)
        case ast.Compare() if all(type(op) in _COMPARE for op in node.ops):
            values = [_number(part, sizes) for part in (node.left, *node.comparators)]
            pairs = zip(node.ops, values, values[1:], strict=False)
            return all(_COMPARE[type(op)](left, right) for op, left, right in pairs)
    raise ValueError(f"{ast.unparse(node)!r} is not a comparison of sizes")


def _number(node: ast.expr, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return value
        case ast.Name(id=name) if name in sizes:
            return sizes[name]
        case ast.BinOp(op=ast.Mod(), right=ast.Constant(value=int() as divisor)) if divisor > 0:
            return _number(node.left, sizes) % divisor
        case ast.BinOp() if type(node.op) in _COMPUTE:
            return _COMPUTE[type(node.op)](_number(node.left, sizes), _number(node.right, sizes))
    raise ValueError(f"{ast.unparse(node)!r} is neither {', '.join(_SIZES)} nor a whole number")


def _tools(toolchain: str) -> Iterator[tuple[str, SpecifierSet]]:
    """Name and allowed versions of each tool. Raises ValueError if they cannot be read."""
    for word in toolchain.split():
        name = _NAME.match(word)
        try:
            if name is None:
                raise InvalidSpecifier(word)
            versions = SpecifierSet(word[name.end() :])
        except InvalidSpecifier as error:
            raise ValueError(f"{word!r} is not a tool with versions such as triton>=3.2,<4") from error
        yield name[0], versions

"""Tells what shape the rows have that a task reduces, in the words that techniques.toml compares with."""

import ast
import re
from math import prod

from kb.types.kernels import Interface

ALONG = re.compile(
    r"(?:log_?)?softmax|logsumexp|sum|mean|a?max|a?min|arg(?:max|min)|var|std|prod|cum(?:sum|prod)", re.IGNORECASE
)
"""Names of functions and modules that reduce along the dimensions that they are given."""
OVER = {
    **dict.fromkeys(("LayerNorm", "layer_norm", "RMSNorm", "rms_norm"), -1),
    **dict.fromkeys(("cross_entropy", "CrossEntropyLoss", "nll_loss", "NLLLoss"), 1),
}
"""The dimension along which other functions reduce, if the task's parameters have one dimension."""
PYTHON = ("max", "min", "sum")
"""Python's own functions, which reduce no tensor along a dimension."""
_NUMBERS = re.compile(r"[-\d, ()\[\]]+")
LONGEST_ROW = 16384
"""Most elements of a row that one program holds in registers."""
MANY_ROWS = 2048
"""Rows that give each core of a large chip several programs."""


def shapes_of(source: str, interface: Interface) -> tuple[str, ...]:
    """The words for the rows of the largest input; none if the source does not show along what it reduces."""
    shape = max((t.shape for t in interface.inputs), key=prod, default=())
    if not shape or interface.matrix_operations:
        return ()
    dims = {dim % len(shape) for node in ast.walk(ast.parse(source)) for dim in _along(node, interface)}
    if dims != {len(shape) - 1}:
        return ("inner dimension",) if dims and len(shape) - 1 not in dims else ()
    length = "long rows" if shape[-1] > LONGEST_ROW else "short rows"
    return length, "many rows" if prod(shape[:-1]) >= MANY_ROWS else "few rows"


def _along(node: ast.AST, interface: Interface) -> list[int]:
    """The dimensions along which a call reduces."""
    if not isinstance(node, ast.Call):
        return []
    own = getattr(node.func, "id", "")
    name = node.func.attr if isinstance(node.func, ast.Attribute) else "" if own in PYTHON else own
    if name in OVER and all(len(t.shape) <= 1 for t in interface.state):
        return [OVER[name]]
    given = [key.value for key in node.keywords if key.arg in ("dim", "axis")] or node.args
    numbers = [text for text in map(ast.unparse, given) if _NUMBERS.fullmatch(text)] if ALONG.fullmatch(name) else []
    return [int(dim) for dim in re.findall(r"-?\d+", " ".join(numbers))]

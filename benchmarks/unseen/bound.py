"""Compute from a chip's specification the cycles that every program for a task needs at least."""

from collections.abc import Callable, Sequence
from math import ceil, prod
from typing import NamedTuple

from benchmarks.unseen.chip import Chip
from benchmarks.unseen.instructions import Op

Shape = tuple[int, ...]


class Work(NamedTuple):
    """What a task needs at least, in elements. Tensors are moved once."""

    loads: int = 0
    stores: int = 0
    lanes: int = 0
    """Vector arithmetic, a multiplication and an addition together."""
    special: int = 0
    product: tuple[Op, int, int, int] | None = None
    """Its operation, rows, depth and columns."""


def _linear(inputs: Sequence[Shape], out: int) -> Work:
    (rows, depth), (_, columns) = inputs[:2]
    return Work(out, out, 4 * out, 2 * out, (Op.PRODUCT_FULL, rows, depth, columns))


WORK: dict[str, Callable[[Sequence[Shape], int], Work]] = {
    "strided-copy": lambda _, out: Work(out, out),
    "scaled-add": lambda _, out: Work(2 * out, out, out),
    "row-sum": lambda inputs, _: Work(prod(inputs[0]), 0, prod(inputs[0])),
    "softmax": lambda _, out: Work(out, out, 4 * out, out),
    "layernorm": lambda _, out: Work(out, out, 4 * out),
    "transpose": lambda _, out: Work(out, out),
    "matmul": lambda inputs, _: Work(product=(Op.PRODUCT_NARROW, *inputs[0], inputs[1][1])),
    "linear-silu": _linear,
    "gather": lambda _, out: Work(out, out),
    "exclusive-cumsum": lambda _, out: Work(out, out, out),
}


def least_cycles(chip: Chip, task: str, inputs: Sequence[Shape], output: Shape, *, element_bytes: int = 4) -> int:
    """The larger of the times for transfers, on all engines at once, and for computing between the first and the last.

    Args:
        inputs: Shapes of inputs and parameters.
    """
    work, transfers = WORK[task](inputs, prod(output)), chip.transfers
    moved = element_bytes * (sum(map(prod, inputs)) + prod(output))
    bursts = moved / transfers.burst_bytes * transfers.burst_cycles / transfers.engines
    cost, lanes = chip.instructions, chip.vectors.lanes
    vectors = (work.loads + work.stores + work.lanes + work.special) / lanes
    port = (work.loads * cost[Op.LOAD].busy + work.stores * cost[Op.STORE].busy) / lanes
    special = work.special * min(cost[Op.EXPONENTIAL].busy, cost[Op.INVERSE_ROOT].busy) / lanes
    computed = max(vectors, port, special, _product_cycles(chip, work))
    return ceil(transfers.startup_cycles + max(bursts, transfers.startup_cycles + computed))


def _product_cycles(chip: Chip, work: Work) -> int:
    if work.product is None:
        return 0
    op, rows, depth, columns = work.product
    tiles = ceil(rows / chip.matrix.rows) * ceil(columns / chip.matrix.columns)
    return tiles * ceil(depth / chip.matrix.step) * chip.instructions[op].busy

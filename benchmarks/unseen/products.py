"""Kernels for products of matrices: with vectors, and with the matrix unit."""

import math
from collections.abc import Sequence
from functools import partial

from benchmarks.unseen.builder import Builder
from benchmarks.unseen.instructions import Op
from benchmarks.unseen.schedule import Rows, Stream, Tile, in_groups, one_by_one, pipelined, resident

RIGHT_SHARE = 0.55
"""Of the scratchpad, for the right matrix."""
ACCUMULATORS = 2
"""That are filled and drained in turns."""
TOGETHER = 2
"""Rows that go through the activation at a time."""
WIDEST_ROW = 256
"""Most columns of a product."""


def product(b: Builder, *, half: bool, expert: bool) -> None:
    """A product of float16 matrices; or one of float32 matrices, plus a bias, through x / (1 + exp(-x))."""
    rows, depth, columns = b.size(0, 0), b.size(0, 1), b.size(1, 1)
    address, pitch = resident(b, Stream(1, columns, half=half), depth, int(RIGHT_SHARE * b.chip.scratchpad.words))
    activation = None if half else _Activation(b, columns)
    source = Stream(0, depth, share=3, half=half)
    target = Stream(2 if half else 3, columns, half=half)
    if not expert:
        body = partial(_by_vectors, b, address, pitch, depth, columns, activation)
        one_by_one(b, [source], target, rows, body)
        return

    def tile_body(tile: Tile) -> None:
        with b.scope():
            _by_products(b, tile, (address, pitch), depth, columns, half=half)
        if activation:
            only = Tile(tile.firsts[1:], tile.pitches[1:], tile.rows)
            in_groups(b, only, TOGETHER, lambda block: activation.apply(block.pointers[0]))

    target = target._replace(padding=ACCUMULATORS * b.chip.matrix.columns - 1)
    pipelined(b, [source], target, rows, tile_body, multiple=math.lcm(b.chip.matrix.rows, TOGETHER))


class _Activation:
    """Adds the bias to rows, and multiplies each element x by 1 / (1 + exp(-x))."""

    def __init__(self, b: Builder, columns: str) -> None:
        self._b, self._columns = b, columns
        with b.scope():
            self._bias, _ = resident(b, Stream(2, columns), b.number(1), WIDEST_ROW)
        self._one, self._base_2, self._minus = b.vectors(3)
        b.emit(Op.FILL, self._one, 1.0)
        b.emit(Op.FILL, self._base_2, math.log2(math.e))
        b.emit(Op.FILL, self._minus, -1.0)

    def apply(self, targets: Sequence[str]) -> None:
        b = self._b
        values, powers, term, place = b.vectors(len(targets)), b.vectors(len(targets)), b.vector(), b.scalar()
        b.copy(place, self._bias)
        with b.chunks(self._columns, [*targets, place]):
            b.emit(Op.LOAD, term, place, 1, region="bias")
            for value, target in zip(values, targets, strict=True):
                b.emit(Op.LOAD, value, target, 1, region="sums")
            for value in values:
                b.emit(Op.VECTOR_ADD, value, value, term)
            for value, power in zip(values, powers, strict=True):
                b.emit(Op.VECTOR_MULTIPLY, power, value, self._minus)
            b.exponential(powers, self._base_2)
            for power in powers:
                b.emit(Op.VECTOR_ADD, power, power, self._one)
            for power in powers:
                b.emit(Op.INVERSE_ROOT, power, power)
            for value, power in zip(values, powers, strict=True):
                b.emit(Op.VECTOR_MULTIPLY, value, value, power)
            for value, power in zip(values, powers, strict=True):
                b.emit(Op.VECTOR_MULTIPLY, value, value, power)
            for value, target in zip(values, targets, strict=True):
                b.emit(Op.STORE, value, target, 1, region="out")


def _by_vectors(
    b: Builder, right: int, pitch: str, depth: str, columns: str, activation: _Activation | None, block: Rows
) -> None:
    """A row of the product: each element of the left row times a row of the right matrix."""
    (source,), (target,) = block.pointers
    with b.scope():
        total, factor, vector = b.vectors(3)
        first, place, left = (b.scalar() for _ in range(3))
        b.copy(first, right)
        with b.chunks(columns, [target, first]):
            b.emit(Op.FILL, total, 0)
            b.copy(place, first)
            b.copy(left, depth)
            with b.while_positive(left):
                b.emit(Op.LOAD, factor, source, 0, region="in")
                b.emit(Op.LOAD, vector, place, 1, region="right")
                b.emit(Op.MULTIPLY_ADD, total, factor, vector)
                b.emit(Op.ADD, source, source, 1)
                b.emit(Op.ADD, place, place, pitch)
                b.emit(Op.ADD, left, left, -1)
            b.emit(Op.STORE, total, target, 1, region="sums")
            b.difference(left, source, depth)
            b.copy(source, left)
    if activation:
        block.rewind()
        activation.apply([target])


def _by_products(b: Builder, tile: Tile, right: tuple[int, str], depth: str, columns: str, *, half: bool) -> None:
    """All rows of a tile, in turns by the matrix unit's rows and by the columns of its accumulators."""
    shape = b.chip.matrix
    op = Op.PRODUCT_NARROW if half else Op.PRODUCT_FULL
    (left_pitch, out_pitch), (left_address, out_address) = tile.pitches, tile.firsts
    block = b.block(shape.order)
    b.copy(block["left_pitch"], left_pitch)
    b.copy(block["right_pitch"], right[1])
    rows, columns_left, column, target, deep, words = (b.scalar() for _ in range(6))
    accumulators = [b.accumulator(number) for number in range(ACCUMULATORS)]
    b.copy(rows, tile.rows)
    with b.scope():
        first = b.scalar()
        b.copy(first, out_address)
        with b.while_positive(rows):
            b.copy(columns_left, columns)
            b.copy(column, right[0])
            b.copy(target, first)
            with b.while_positive(columns_left):
                for accumulator in accumulators:
                    b.emit(Op.CLEAR, accumulator)
                b.copy(deep, depth)
                b.copy(block["left"], left_address)
                b.copy(block["right"], column)
                with b.while_positive(deep):
                    b.emit(Op.MINIMUM, block["depth"], deep, shape.depth_most)
                    for accumulator in accumulators:
                        b.product(op, accumulator, block)
                        b.emit(Op.ADD, block["right"], block["right"], shape.columns)
                    b.emit(Op.MULTIPLY, words, right[1], shape.depth_most)
                    b.emit(Op.ADD, words, words, -ACCUMULATORS * shape.columns)
                    b.emit(Op.ADD, block["right"], block["right"], words)
                    b.emit(Op.ADD, block["left"], block["left"], shape.depth_most)
                    b.emit(Op.ADD, deep, deep, -shape.depth_most)
                for accumulator in accumulators:
                    b.emit(Op.DRAIN, accumulator, target, out_pitch, region="sums")
                    b.emit(Op.ADD, target, target, shape.columns)
                b.emit(Op.ADD, column, column, ACCUMULATORS * shape.columns)
                b.emit(Op.ADD, columns_left, columns_left, -ACCUMULATORS * shape.columns)
            for address, pitch in ((left_address, left_pitch), (first, out_pitch)):
                b.emit(Op.MULTIPLY, words, pitch, shape.rows)
                b.emit(Op.ADD, address, address, words)
            b.emit(Op.ADD, rows, rows, -shape.rows)

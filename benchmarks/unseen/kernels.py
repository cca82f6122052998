"""Right kernels for the tasks on any chip: a naive one, and one as an expert would write it."""

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from benchmarks.unseen.builder import Builder, Shape
from benchmarks.unseen.chip import Chip, HazardKind
from benchmarks.unseen.instructions import Op
from benchmarks.unseen.products import product
from benchmarks.unseen.schedule import Block, Rows, Stream, Tile, in_groups, move, one_by_one, pipelined, resident

STRIDE = 3
"""Of the task strided-copy, as is the following of scaled-add."""
SCALE = 2.5
COLUMNS = 4
"""That an expert treats at a time, where rows are in the lanes."""
WIDEST_ROW = 512
"""Most elements of parameters and indices."""
Body = Callable[[Rows], None]


class Kernel(NamedTuple):
    shape: Shape
    naive: Callable[[Builder], None]
    expert: Callable[[Builder], None]


def naive(chip: Chip, task: str, ignoring: Iterable[HazardKind] = ()) -> str:
    """A straightforward program for a task. It is wrong if it is written as if there were not some of the hazards."""
    return _text(chip, KERNELS[task].shape, KERNELS[task].naive, ignoring)


def expert(chip: Chip, task: str, ignoring: Iterable[HazardKind] = ()) -> str:
    """A fast program for a task."""
    return _text(chip, KERNELS[task].shape, KERNELS[task].expert, ignoring)


def _text(chip: Chip, shape: Shape, write: Callable[[Builder], None], ignoring: Iterable[HazardKind]) -> str:
    builder = Builder(chip, shape)
    write(builder)
    return builder.text(ignoring)


# Tasks that treat each row alike


def strided_copy(b: Builder, *, expert: bool) -> None:
    rows, columns, picked = b.size(0, 0), b.size(0, 1), b.size(1, 1)

    def body(block: Rows) -> None:
        sources, targets = block.pointers
        vectors = b.vectors(len(sources))
        steps = [STRIDE] * len(sources) + [1] * len(targets)
        with b.chunks(picked, [*sources, *targets], steps):
            for vector, source in zip(vectors, sources, strict=True):
                b.emit(Op.LOAD, vector, source, STRIDE, region="in")
            for vector, target in zip(vectors, targets, strict=True):
                b.emit(Op.STORE, vector, target, 1, region="out")

    _rows(b, [Stream(0, columns)], Stream(1, picked, share=2), rows, body, together=4 if expert else 0)


def scaled_add(b: Builder, *, expert: bool) -> None:
    rows, columns = b.size(0, 0), b.size(0, 1)
    scale = b.vector()
    b.emit(Op.FILL, scale, SCALE)

    def body(block: Rows) -> None:
        vectors, sums = b.vectors(len(block.pointers[0])), b.vectors(len(block.pointers[0]))
        with b.chunks(columns, [pointer for pointers in block.pointers for pointer in pointers]):
            for vector, source in zip(vectors, block.pointers[0], strict=True):
                b.emit(Op.LOAD, vector, source, 1, region="in")
            for vector, source in zip(sums, block.pointers[1], strict=True):
                b.emit(Op.LOAD, vector, source, 1, region="in")
            for vector, total in zip(vectors, sums, strict=True):
                b.emit(Op.MULTIPLY_ADD, total, vector, scale)
            for total, target in zip(sums, block.pointers[2], strict=True):
                b.emit(Op.STORE, total, target, 1, region="out")

    _rows(b, [Stream(0, columns), Stream(1, columns)], Stream(2, columns), rows, body, together=2 if expert else 0)


def row_sum(b: Builder, *, expert: bool) -> None:
    rows, columns, one = b.size(0, 0), b.size(0, 1), b.number(1)

    def body(block: Rows) -> None:
        sources, targets = block.pointers
        totals, vectors = b.vectors(len(sources)), b.vectors(len(sources))
        _summed(b, sources, totals, vectors, columns)
        b.totals(Op.SUM, totals, vectors)
        b.emit(Op.LENGTH, 1)
        for total, target in zip(totals, targets, strict=True):
            b.emit(Op.STORE, total, target, 1, region="out")
        b.emit(Op.LENGTH, b.chip.vectors.lanes)

    _rows(b, [Stream(0, columns, share=8)], Stream(1, one, share=1), rows, body, together=2 if expert else 0)


def _summed(b: Builder, sources: tuple[str, ...], totals: list[str], vectors: list[str], count: str) -> None:
    """In each lane of `totals` the sum of every so many elements of the rows."""
    for total in totals:
        b.emit(Op.FILL, total, 0)
    with b.chunks(count, sources):
        for vector, source in zip(vectors, sources, strict=True):
            b.emit(Op.LOAD, vector, source, 1, region="in")
        for vector, total in zip(vectors, totals, strict=True):
            b.emit(Op.VECTOR_ADD, total, total, vector)


def softmax(b: Builder, *, expert: bool) -> None:
    rows, columns = b.size(0, 0), b.size(0, 1)
    base_2 = b.vector()
    b.emit(Op.FILL, base_2, math.log2(math.e))

    def body(block: Rows) -> None:
        sources, targets = block.pointers
        greatest, totals, vectors = (b.vectors(len(sources)) for _ in range(3))
        for vector in greatest:
            b.emit(Op.FILL, vector, -3.0e38)
        with b.chunks(columns, sources):
            for vector, source in zip(vectors, sources, strict=True):
                b.emit(Op.LOAD, vector, source, 1, region="in")
            for vector, most in zip(vectors, greatest, strict=True):
                b.emit(Op.VECTOR_MAXIMUM, most, most, vector)
        b.totals(Op.GREATEST, greatest, vectors)
        b.broadcast(greatest, targets, "word")
        block.rewind()
        for total in totals:
            b.emit(Op.FILL, total, 0)
        with b.chunks(columns, [*sources, *targets]):
            for vector, source in zip(vectors, sources, strict=True):
                b.emit(Op.LOAD, vector, source, 1, region="in")
            for vector, most in zip(vectors, greatest, strict=True):
                b.emit(Op.VECTOR_SUBTRACT, vector, vector, most)
            b.exponential(vectors, base_2)
            for vector, total, target in zip(vectors, totals, targets, strict=True):
                b.emit(Op.VECTOR_ADD, total, total, vector)
                b.emit(Op.STORE, vector, target, 1, region="powers")
        b.totals(Op.SUM, totals, vectors)
        _reciprocals(b, totals)
        block.rewind()
        b.broadcast(totals, sources, "word")
        with b.chunks(columns, targets):
            for vector, target in zip(vectors, targets, strict=True):
                b.emit(Op.LOAD, vector, target, 1, region="powers")
            for vector, total in zip(vectors, totals, strict=True):
                b.emit(Op.VECTOR_MULTIPLY, vector, vector, total)
            for vector, target in zip(vectors, targets, strict=True):
                b.emit(Op.STORE, vector, target, 1, region="out")

    _rows(b, [Stream(0, columns)], Stream(1, columns), rows, body, together=3 if expert else 0)


def _reciprocals(b: Builder, vectors: list[str]) -> None:
    """Each vector = 1 / itself, where it is positive."""
    for vector in vectors:
        b.emit(Op.INVERSE_ROOT, vector, vector)
    for vector in vectors:
        b.emit(Op.VECTOR_MULTIPLY, vector, vector, vector)


def layernorm(b: Builder, *, expert: bool) -> None:
    rows, columns, one = b.size(0, 0), b.size(0, 1), b.number(1)
    parameters = [resident(b, Stream(tensor, columns), one, WIDEST_ROW)[0] for tensor in (1, 2)]
    share, epsilon = b.vector(), b.vector()
    b.emit(Op.FILL_INTEGER, share, columns)
    _reciprocals(b, [share])
    with b.scope():
        b.emit(Op.FILL, epsilon, b.argument(b.places.init + 1))

    def body(block: Rows) -> None:
        sources, targets = block.pointers
        means, totals, vectors = (b.vectors(len(sources)) for _ in range(3))
        _summed(b, sources, means, vectors, columns)
        b.totals(Op.SUM, means, vectors)
        for mean in means:
            b.emit(Op.VECTOR_MULTIPLY, mean, mean, share)
        b.broadcast(means, targets, "word")
        block.rewind()
        for total in totals:
            b.emit(Op.FILL, total, 0)
        with b.chunks(columns, [*sources, *targets]):
            for vector, source in zip(vectors, sources, strict=True):
                b.emit(Op.LOAD, vector, source, 1, region="in")
            for vector, mean in zip(vectors, means, strict=True):
                b.emit(Op.VECTOR_SUBTRACT, vector, vector, mean)
            for vector, total, target in zip(vectors, totals, targets, strict=True):
                b.emit(Op.MULTIPLY_ADD, total, vector, vector)
                b.emit(Op.STORE, vector, target, 1, region="centred")
        b.totals(Op.SUM, totals, vectors)
        for total in totals:
            b.emit(Op.VECTOR_MULTIPLY, total, total, share)
        for total in totals:
            b.emit(Op.VECTOR_ADD, total, total, epsilon)
        for total in totals:
            b.emit(Op.INVERSE_ROOT, total, total)
        block.rewind()
        b.broadcast(totals, sources, "word")
        factor, term = b.vectors(2)
        places = [b.scalar(), b.scalar()]
        for place, parameter in zip(places, parameters, strict=True):
            b.copy(place, parameter)
        with b.chunks(columns, [*targets, *places]):
            for vector, target in zip(vectors, targets, strict=True):
                b.emit(Op.LOAD, vector, target, 1, region="centred")
            b.emit(Op.LOAD, factor, places[0], 1, region="parameters")
            b.emit(Op.LOAD, term, places[1], 1, region="parameters")
            for other, op in ((None, Op.VECTOR_MULTIPLY), (factor, Op.VECTOR_MULTIPLY), (term, Op.VECTOR_ADD)):
                for vector, total in zip(vectors, totals, strict=True):
                    b.emit(op, vector, vector, other or total)
            for vector, target in zip(vectors, targets, strict=True):
                b.emit(Op.STORE, vector, target, 1, region="out")

    _rows(b, [Stream(0, columns)], Stream(3, columns), rows, body, together=2 if expert else 0)


def gather(b: Builder, *, expert: bool) -> None:
    rows, columns, count, one = b.size(0, 0), b.size(0, 1), b.size(1, 0), b.number(1)
    picked, _ = resident(b, Stream(1, count), one, WIDEST_ROW)

    def body(block: Rows) -> None:
        sources, targets = block.pointers
        places, pointer, vectors = b.vector(), b.scalar(), b.vectors(len(sources))
        b.copy(pointer, picked)
        with b.chunks(count, [*targets, pointer]):
            b.emit(Op.LOAD, places, pointer, 1, region="index")
            for vector, source in zip(vectors, sources, strict=True):
                b.emit(Op.LOAD_INDEXED, vector, source, places, region="in")
            for vector, target in zip(vectors, targets, strict=True):
                b.emit(Op.STORE, vector, target, 1, region="out")

    _rows(b, [Stream(0, columns)], Stream(2, count), rows, body, together=4 if expert else 0)


def _rows(b: Builder, inputs: list[Stream], output: Stream, rows: str, body: Body, *, together: int) -> None:
    """One row at a time, or blocks with so many rows `together`."""
    if together:
        pipelined(b, inputs, output, rows, lambda tile: in_groups(b, tile, together, body), multiple=together)
    else:
        one_by_one(b, inputs, output, rows, body)


# Tasks with rows in the lanes


def naive_transpose(b: Builder) -> None:
    rows, columns = b.size(0, 0), b.size(0, 1)
    line = b.chip.scratchpad.line_words

    def body(block: Rows) -> None:
        (source,), (target,) = block.pointers
        vector = b.vector()
        with b.chunks(columns, [source, target], [1, line]):
            b.emit(Op.LOAD, vector, source, 1, region="in")
            b.emit(Op.STORE, vector, target, line, region="out")

    def put(column: Block) -> None:
        with b.scope():
            first = b.scalar()
            b.copy(first, column["far"])
            b.emit(Op.SET, column["near_pitch"], line)
            b.emit(Op.MULTIPLY, column["far_pitch"], rows, 4)
            move(b, column, Op.PUT, columns, 1)
            b.emit(Op.WAIT, 1)
            b.emit(Op.ADD, column["far"], first, 4)

    one = b.number(1)
    streams = [Stream(0, columns)], Stream(1, one)
    one_by_one(b, *streams, rows, body, put)


def expert_transpose(b: Builder) -> None:
    rows, columns = b.size(0, 0), b.size(0, 1)
    most = min(b.chip.vectors.lanes, b.chip.transfers.rows_most)
    width = b.number(most)

    def body(tile: Tile) -> None:
        (source, target), (pitch, width_pitch) = tile.firsts, tile.pitches
        b.emit(Op.LENGTH, tile.rows)
        vectors = b.vectors(COLUMNS)
        left = b.scalar()
        b.copy(left, columns)
        with b.while_positive(left):
            for vector in vectors:
                b.emit(Op.LOAD, vector, source, pitch, region="in")
                b.emit(Op.ADD, source, source, 1)
            for vector in vectors:
                b.emit(Op.STORE, vector, target, 1, region="out")
                b.emit(Op.ADD, target, target, width_pitch)
            b.emit(Op.ADD, left, left, -COLUMNS)

    def put(block: Block, tile_rows: str, token: str) -> None:
        with b.scope():
            first, bytes_ = b.scalar(), b.scalar()
            b.copy(first, block["far"])
            b.copy(block["count"], tile_rows)
            b.emit(Op.MULTIPLY, block["far_pitch"], rows, 4)
            move(b, block, Op.PUT, columns, token)
            b.emit(Op.MULTIPLY, bytes_, tile_rows, 4)
            b.emit(Op.ADD, block["far"], first, bytes_)

    streams = [Stream(0, columns, padding=COLUMNS, spread=True)], Stream(1, width)
    pipelined(b, *streams, rows, body, at_most=most, put=put)


def naive_cumsum(b: Builder) -> None:
    rows, columns = b.size(0, 0), b.size(0, 1)

    def body(block: Rows) -> None:
        (source,), (target,) = block.pointers
        total, vector, left = b.vector(), b.vector(), b.scalar()
        b.emit(Op.LENGTH, 1)
        b.emit(Op.FILL, total, 0)
        b.copy(left, columns)
        with b.while_positive(left):
            b.emit(Op.STORE, total, target, 1, region="out")
            b.emit(Op.LOAD, vector, source, 1, region="in")
            b.emit(Op.VECTOR_ADD, total, total, vector)
            for register, step in ((source, 1), (target, 1), (left, -1)):
                b.emit(Op.ADD, register, register, step)

    streams = [Stream(0, columns)], Stream(1, columns)
    one_by_one(b, *streams, rows, body)


def expert_cumsum(b: Builder) -> None:
    rows, columns = b.size(0, 0), b.size(0, 1)

    def body(tile: Tile) -> None:
        (source, target), (pitch, target_pitch) = tile.firsts, tile.pitches
        b.emit(Op.LENGTH, tile.rows)
        total, vectors = b.vector(), b.vectors(COLUMNS)
        left = b.scalar()
        b.emit(Op.FILL, total, 0)
        b.copy(left, columns)
        with b.while_positive(left):
            for vector in vectors:
                b.emit(Op.LOAD, vector, source, pitch, region="in")
                b.emit(Op.ADD, source, source, 1)
            for vector in vectors:
                b.emit(Op.STORE, total, target, target_pitch, region="out")
                b.emit(Op.VECTOR_ADD, total, total, vector)
                b.emit(Op.ADD, target, target, 1)
            b.emit(Op.ADD, left, left, -COLUMNS)

    layout = {"padding": COLUMNS - 1, "spread": True}
    streams = [Stream(0, columns, **layout)], Stream(1, columns, **layout)
    pipelined(b, *streams, rows, body, at_most=b.chip.vectors.lanes)


def _both(given: tuple[int, ...], outputs: tuple[int, ...], write: Callable[..., None]) -> Kernel:
    return Kernel(Shape(given, outputs), partial(write, expert=False), partial(write, expert=True))


KERNELS: dict[str, Kernel] = {
    "strided-copy": _both((2,), (2,), strided_copy),
    "scaled-add": _both((2, 2), (2,), scaled_add),
    "row-sum": _both((2,), (1,), row_sum),
    "softmax": _both((2,), (2,), softmax),
    "layernorm": _both((2, 1, 1), (2,), layernorm),
    "transpose": Kernel(Shape((2,), (2,)), naive_transpose, expert_transpose),
    "matmul": _both((2, 2), (2,), partial(product, half=True)),
    "linear-silu": _both((2, 2, 1), (2,), partial(product, half=False)),
    "gather": _both((2, 1), (2,), gather),
    "exclusive-cumsum": Kernel(Shape((2,), (2,)), naive_cumsum, expert_cumsum),
}

"""Moves rows of tensors through the scratchpad: one row at a time, or in blocks while others are computed."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from benchmarks.unseen.builder import Builder
from benchmarks.unseen.instructions import Op

BLOCKS = 5
"""The fewest blocks into which rows are divided, if there are as many."""
Block = dict[str, str]
"""Registers that describe a transfer, by the name of the field."""


class Stream(NamedTuple):
    """Rows of a tensor, one after the other in the outer memory."""

    tensor: int
    count: str
    """Register with the elements of a row."""
    share: int = 4
    """Of the scratchpad, relative to other streams."""
    half: bool = False
    padding: int = 0
    """Words after each row in the scratchpad that may be overwritten."""
    spread: bool = False
    """Whether words below each other lie in many banks."""

    @property
    def get(self) -> Op:
        return Op.GET_HALF if self.half else Op.GET

    @property
    def put(self) -> Op:
        return Op.PUT_HALF if self.half else Op.PUT


class Rows(NamedTuple):
    """Some rows in the scratchpad, of each stream, the output last."""

    pointers: tuple[tuple[str, ...], ...]
    """The registers with the addresses of the rows, for each stream. The body of a loop may change them."""
    rewind: Callable[[], None]
    """Sets all pointers to the first words again."""


class Tile(NamedTuple):
    """A block of rows in the scratchpad."""

    firsts: tuple[str, ...]
    """For each stream the address of the first row. They may be changed."""
    pitches: tuple[str, ...]
    rows: str


def described(b: Builder, stream: Stream) -> Block:
    """Registers that describe a transfer of rows of a stream; `near` and `rows` are still missing."""
    block = b.block(b.chip.transfers.order)
    b.address(block["far"], stream.tensor)
    b.copy(block["count"], stream.count)
    pitch = block["near_pitch"]
    b.emit(Op.ADD, pitch, stream.count, stream.padding)
    if stream.spread:
        b.spread_pitch(pitch, pitch)
    else:
        b.rounded_up(pitch, pitch, b.chip.scratchpad.line_words)
    b.emit(Op.MULTIPLY, block["far_pitch"], stream.count, 2 if stream.half else 4)
    return block


def move(b: Builder, block: Block, op: Op, rows: str, token: str | int) -> None:
    """Transfer rows, as many at a time as the chip allows. `near` and `far` move to the row after them."""
    with b.scope():
        left, words = b.scalar(), b.scalar()
        b.copy(left, rows)
        with b.while_positive(left):
            b.emit(Op.MINIMUM, block["rows"], left, b.chip.transfers.rows_most)
            b.transfer(op, block, token)
            for place, pitch in (("near", "near_pitch"), ("far", "far_pitch")):
                b.emit(Op.MULTIPLY, words, block["rows"], block[pitch])
                b.emit(Op.ADD, block[place], block[place], words)
            b.difference(words, left, block["rows"])
            b.copy(left, words)


def resident(b: Builder, stream: Stream, rows: str, words: int) -> tuple[int, str]:
    """Keep rows in so many words of the scratchpad. Returns the address, and a register with the pitch."""
    address, pitch = b.memory(words), b.scalar()
    with b.scope():
        block = described(b, stream)
        b.copy(block["near"], address)
        b.copy(pitch, block["near_pitch"])
        move(b, block, stream.get, rows, 0)
        b.emit(Op.WAIT, 0)
    return address, pitch


def one_by_one(
    b: Builder, inputs: Sequence[Stream], output: Stream, rows: str, body: Callable[[Rows], None],
    put: Callable[[Block], None] | None = None,
) -> None:  # fmt: skip
    """Get a row of each input, wait, compute, put the row of the output, wait; then the next.

    Args:
        put: Puts the row whose address is `near`, and moves `far` to the next, if that is not the row after it.
    """
    streams = (*inputs, output)
    unit = b.free_words // sum(stream.share for stream in streams)
    blocks = [described(b, stream) for stream in streams]
    places = [b.memory(unit * stream.share - b.chip.scratchpad.line_words) for stream in streams]
    left = b.scalar()
    b.copy(left, rows)
    pointers = [b.scalar() for _ in streams]

    def rewind() -> None:
        for pointer, place in zip(pointers, places, strict=True):
            b.emit(Op.SET, pointer, place)

    with b.while_positive(left):
        for block, place in zip(blocks, places, strict=True):
            b.emit(Op.SET, block["near"], place)
            b.emit(Op.SET, block["rows"], 1)
        for stream, block in zip(inputs, blocks, strict=False):
            b.transfer(stream.get, block, 0)
            b.emit(Op.WAIT, 0)
        rewind()
        with b.scope():
            body(Rows(tuple((pointer,) for pointer in pointers), rewind))
        if put:
            put(blocks[-1])
        else:
            b.transfer(output.put, blocks[-1], 1)
            b.emit(Op.WAIT, 1)
        for block in blocks if put is None else blocks[:-1]:
            b.emit(Op.ADD, block["far"], block["far"], block["far_pitch"])
        b.emit(Op.ADD, left, left, -1)


def _divide(
    b: Builder, rows: str, room: Sequence[tuple[int, str]], take: str, other: str, *, multiple: int, at_most: int
) -> None:
    """Set `take` to the rows of a block: few enough for BLOCKS blocks, and for each buffer; `other` is overwritten.

    Args:
        room: The words and the pitch of each buffer.
    """
    b.emit(Op.ADD, take, rows, BLOCKS * multiple - 1)
    b.emit(Op.DIVIDE, take, take, BLOCKS * multiple)
    for size, pitch in room:
        b.emit(Op.SET, other, size)
        b.emit(Op.DIVIDE, other, other, pitch)
        b.emit(Op.DIVIDE, other, other, multiple)
        b.emit(Op.MINIMUM, take, take, other)
    b.emit(Op.MULTIPLY, take, take, multiple)
    b.emit(Op.MINIMUM, take, take, at_most)


def _wait(b: Builder, now: str, done: str, other: str, inputs: int) -> None:
    """Wait until a block is there, and until the one before the last is put, if so many are done."""
    for number in range(inputs):
        b.emit(Op.ADD, other, now, 2 * number)
        b.emit(Op.WAIT, other)
    b.emit(Op.ADD, other, now, 2 * inputs)
    with b.unless(done, 2):
        b.emit(Op.WAIT, other)


def _put_rows(b: Builder, output: Stream, block: Block, rows: str, token: str) -> None:
    b.copy(block["rows"], rows)
    b.transfer(output.put, block, token)
    b.emit(Op.MULTIPLY, token, rows, block["far_pitch"])
    b.emit(Op.ADD, block["far"], block["far"], token)


def pipelined(
    b: Builder, inputs: Sequence[Stream], output: Stream, rows: str, body: Callable[[Tile], None], *, multiple: int = 1,
    at_most: int = 1 << 20, put: Callable[[Block, str, str], None] | None = None,
) -> None:  # fmt: skip
    """Get a block of rows while the block before it is computed and the one before that is put.

    Args:
        body: Computes a block. It may compute more than its rows, up to a multiple of `multiple`.
        at_most: Rows of a block.
        put: Puts a block of so many rows with a token, and moves `far` to the next, if it is not made of rows.
    """
    streams = (*inputs, output)
    line = b.chip.scratchpad.line_words
    unit = b.free_words // (2 * sum(stream.share for stream in streams))
    sizes = [unit * stream.share // line * line for stream in streams]
    places = [b.memory(2 * size) for size in sizes]
    blocks = [described(b, stream) for stream in streams]
    most = max(1, min(at_most, b.chip.transfers.rows_most) // multiple) * multiple
    take, left, following, current, now, then, done, other = (b.scalar() for _ in range(8))
    by_rows = blocks[:-1] if put else blocks
    room = [(size, block["near_pitch"]) for block, size in zip(by_rows, sizes, strict=False)]
    _divide(b, rows, room, take, other, multiple=multiple, at_most=most)
    b.copy(left, rows)
    b.emit(Op.SET, then, 0)
    b.emit(Op.SET, done, 0)

    def begin() -> None:
        """Begin to get the following block into the buffers that are then the current ones."""
        b.emit(Op.MINIMUM, following, take, left)
        for number, (stream, block) in enumerate(zip(inputs, blocks, strict=False)):
            b.emit(Op.MULTIPLY, block["near"], then, sizes[number])
            b.emit(Op.ADD, block["near"], block["near"], places[number])
            b.copy(block["rows"], following)
            b.emit(Op.ADD, other, then, 2 * number)
            b.transfer(stream.get, block, other)
            b.emit(Op.MULTIPLY, other, following, block["far_pitch"])
            b.emit(Op.ADD, block["far"], block["far"], other)
        b.difference(other, left, following)
        b.copy(left, other)

    begin()
    last = blocks[-1]
    with b.while_positive(following):
        b.copy(current, following)
        b.copy(now, then)
        b.difference(then, 1, now)
        b.emit(Op.SET, following, 0)
        with b.unless(left, 1):
            begin()
        _wait(b, now, done, other, len(inputs))
        b.emit(Op.ADD, done, done, 1)
        with b.scope():
            firsts = tuple(b.scalar() for _ in streams)
            for first, size, place in zip(firsts, sizes, places, strict=True):
                b.emit(Op.MULTIPLY, first, now, size)
                b.emit(Op.ADD, first, first, place)
            b.copy(last["near"], firsts[-1])
            body(Tile(firsts, tuple(block["near_pitch"] for block in blocks), current))
        b.emit(Op.ADD, other, now, 2 * len(inputs))
        (put or partial(_put_rows, b, output))(last, current, other)


def in_groups(b: Builder, tile: Tile, together: int, body: Callable[[Rows], None]) -> None:
    """Compute so many rows of a tile at a time."""
    pointers = tuple(tuple(b.scalar() for _ in range(together)) for _ in tile.firsts)
    left = b.scalar()
    b.copy(left, tile.rows)

    def rewind() -> None:
        for first, row_pointers in zip(tile.firsts, pointers, strict=True):
            b.copy(row_pointers[0], first)
        for before in range(together - 1):
            for row_pointers, pitch in zip(pointers, tile.pitches, strict=True):
                b.emit(Op.ADD, row_pointers[before + 1], row_pointers[before], pitch)

    with b.while_positive(left):
        rewind()
        with b.scope():
            body(Rows(pointers, rewind))
        for first, pitch in zip(tile.firsts, tile.pitches, strict=True):
            for _ in range(together):
                b.emit(Op.ADD, first, first, pitch)
        b.emit(Op.ADD, left, left, -together)

"""The matrix unit of the machine."""

from typing import Any, NamedTuple

import numpy as np

from benchmarks.unseen.chip import Chip, HazardKind
from benchmarks.unseen.faults import Fault, FaultKind
from benchmarks.unseen.scratchpad import ScratchpadMemory

FRACTION_BITS = 23
"""Of a float32 (IEEE 754-2019, table 3.5)."""


class Product(NamedTuple):
    """Two matrices in the scratchpad, as indices of their words."""

    left: Any
    right: Any
    steps: int
    """Times that the unit is busy for the instruction's busy cycles."""

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The first and the last word of each."""
        return tuple((int(words[0, 0]), int(words[-1, -1])) for words in (self.left, self.right))


class MatrixUnit:
    def __init__(self, chip: Chip, pad: ScratchpadMemory) -> None:
        self._shape, self._pad = chip.matrix, pad
        self._late = chip.hazard(HazardKind.LATE_PRODUCT)
        count = chip.registers.accumulators
        self._sums = np.full((count, self._shape.rows, self._shape.columns), np.nan, np.float32)
        self._cleared = [0] * count
        self._undone: list[list[tuple[int, Any]]] = [[] for _ in range(count)]
        """Of each accumulator the products that may not be done: when they are, and the sums before them."""

    def settled(self) -> int:
        done = [time for products in self._undone for time, _ in products]
        return max(*self._cleared, *done) if done else max(self._cleared)

    def cleared(self, accumulator: int) -> int:
        """When the accumulator is cleared."""
        return self._cleared[accumulator]

    def clear(self, accumulator: int, done: int) -> None:
        self._sums[accumulator] = 0
        self._cleared[accumulator] = done
        self._undone[accumulator].clear()

    def described(self, registers: list[int]) -> Product:
        """The product that registers describe. Raises Fault."""
        field = dict(zip(self._shape.order, registers, strict=True))
        depth = field["depth"]
        if not 1 <= depth <= self._shape.depth_most:
            detail = f"a product of depth {depth}; the least is 1, the most {self._shape.depth_most}"
            raise Fault(FaultKind.LIMIT, detail)
        left = _indices(field["left"], field["left_pitch"], self._shape.rows, depth)
        right = _indices(field["right"], field["right_pitch"], depth, self._shape.columns)
        product = Product(left, right, -(-depth // self._shape.step))
        for within in product.ranges:
            self._pad.check(*within)
        return product

    def rows_at(self, first: int, pitch: int) -> Any:
        """Indices of the words of an accumulator's rows. Raises Fault."""
        return _indices(first, pitch, self._shape.rows, self._shape.columns)

    def add(self, accumulator: int, product: Product, start: int, done: int, *, narrow: bool) -> None:
        for within in product.ranges:
            self._pad.claim(start, *within, writes=False)
        left, right = (
            self._pad.seen("product", start, *within)[words]
            for words, within in zip((product.left, product.right), product.ranges, strict=True)
        )
        if narrow:
            left, right = (rounded(values, self._shape.narrow_bits) for values in (left, right))
        sums = self._sums[accumulator]
        undone = [entry for entry in self._undone[accumulator] if entry[0] > start]
        self._undone[accumulator] = [*undone, (start + self._late.cycles if self._late else done, sums.copy())]
        for place in range(left.shape[1]):
            sums += left[:, place, None] * right[place]

    def drainable(self, accumulator: int) -> int:
        """When a drain may begin: after the products, unless it may leave them out."""
        done = [] if self._late else [time for time, _ in self._undone[accumulator]]
        return max(done, default=self._cleared[accumulator])

    def drained(self, accumulator: int, time: int) -> Any:
        """The sums that a drain finds at this time; it clears them if that is the rule."""
        before = [sums for done, sums in self._undone[accumulator] if done > time]
        found = before[0] if before else self._sums[accumulator].copy()
        if self._shape.drain_clears:
            self._sums[accumulator] = 0
            self._undone[accumulator].clear()
        return found


def rounded(values: Any, bits: int) -> Any:
    """Finite float32 values with fewer bits of fraction, to nearest, ties to even."""
    drop = FRACTION_BITS - bits
    whole = np.ascontiguousarray(values).view(np.uint32)
    half = np.uint32((1 << drop - 1) - 1) + (whole >> np.uint32(drop) & np.uint32(1))
    kept = (whole + half) & np.uint32(0xFFFFFFFF << drop & 0xFFFFFFFF)
    return np.where(np.isfinite(values), kept.view(np.float32), values)


def _indices(first: int, pitch: int, rows: int, columns: int) -> Any:
    if pitch < 0:
        raise Fault(FaultKind.BAD_OPERAND, f"a pitch of {pitch}")
    return first + pitch * np.arange(rows)[:, None] + np.arange(columns)

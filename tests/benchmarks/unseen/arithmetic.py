"""The arithmetic of the unseen chip a second time: one number after the other, with Python's own floats.

A sum, difference or product of two float32 in float64, rounded to float32, is the correctly rounded one (Figueroa 1995,
When is double rounding innocuous?).
"""

import math
import struct
from collections.abc import Sequence

from benchmarks.unseen.chip import Chip


def single(value: float) -> float:
    """The nearest float32."""
    return struct.unpack("f", struct.pack("f", value))[0]


def half(value: float) -> float:
    """The nearest float16."""
    return struct.unpack("e", struct.pack("e", value))[0]


def narrow(value: float, bits: int) -> float:
    """The nearest number with so many bits of fraction; of two that are equally near, the even one."""
    fraction, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(fraction, bits + 1)), exponent - bits - 1)


def multiply_add(total: float, a: float, b: float) -> float:
    return single(total + single(a * b))


def power(chip: Chip, value: float) -> float:
    return 2.0**value if chip.vectors.exponent_base == "2" else math.exp(value)


def reduced(chip: Chip, kept: Sequence[float], lanes: Sequence[float], active: int, *, total: bool) -> list[float]:
    """The destination of a sum, or of a greatest value, that held `kept`."""
    shape, found = chip.vectors, list(kept)
    counted = shape.lanes if shape.inactive_count else active
    for first in range(0, shape.lanes, shape.lanes // shape.groups):
        group = [lanes[i] for i in range(first, first + shape.lanes // shape.groups) if i < counted]
        place = first + (shape.lanes // shape.groups - 1 if shape.result_last else 0)
        if place >= counted or not group:
            continue
        value = group[0] if total else max(group)
        for other in group[1:] if total else ():
            value = single(value + other)
        found[place] = value
    return found


def product(left: Sequence[Sequence[float]], right: Sequence[Sequence[float]]) -> list[list[float]]:
    """The product of two matrices, summed in the order of the depth from 0 on."""
    found = [[0.0] * len(right[0]) for _ in left]
    for row, sums in zip(left, found, strict=True):
        for depth, factor in enumerate(row):
            for column, other in enumerate(right[depth]):
                sums[column] = multiply_add(sums[column], factor, other)
    return found


def conflict_cycles(chip: Chip, addresses: Sequence[int]) -> int:
    """Cycles that the banks need for these words."""
    shape = chip.scratchpad
    lines = {address // shape.line_words for address in addresses}
    return max(sum(line % shape.banks == bank for line in lines) for bank in range(shape.banks))

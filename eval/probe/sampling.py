"""What a probe finds out about a machine, and how it times: in turn, in batches, the median with all samples kept."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import NamedTuple

from kb.model.measurement import Measurement, scale_of

WARM_ROUNDS = 2
"""Come first and do not count: clocks rise and memory is taken in them."""
LEAST_ROUNDS = 5

Call = Callable[[], object]
Clock = Callable[[Call, int], float]
"""Seconds that so many calls take."""


class Step(NamedTuple):
    """A part of a probe that may fail alone."""

    name: str
    read: Callable[[], list[Measurement]]


class Extent(NamedTuple):
    """How much is timed: enough that caches and clocks' resolution do not matter, on any device of today."""

    copied_bytes: tuple[int, ...]
    """Sizes of one copy; the largest is also what the others are spread over."""
    matrix_sizes: tuple[int, ...]
    """Rows of square matrices."""
    batch_s: float
    """A batch of calls lasts about this."""
    rounds: int
    step_s: float
    """After that, no more rounds than the fewest are made."""


def sampled(calls: Sequence[Call], clock: Clock, extent: Extent) -> list[tuple[float, ...]]:
    """Seconds of one call, of each of `calls`: one sample a round, in which all take their turn."""
    counts = []
    for call in calls:
        clock(call, 1)  # compiles, loads libraries, takes memory
        counts.append(max(1, math.ceil(extent.batch_s / max(clock(call, 1), 1e-9))))
    rounds: list[list[float]] = []
    deadline = time.monotonic() + extent.step_s
    while _goes_on(len(rounds) - WARM_ROUNDS, extent, deadline):
        rounds.append([clock(call, count) / count for call, count in zip(calls, counts, strict=True)])
    return list(zip(*rounds[WARM_ROUNDS:], strict=True))


def _goes_on(rounds: int, extent: Extent, deadline: float) -> bool:
    return rounds < LEAST_ROUNDS or (rounds < extent.rounds and time.monotonic() < deadline)


def wall_clock(call: Call, count: int) -> float:
    """Seconds by the host's clock, for calls that return when they are done."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    return time.perf_counter() - start


def timed(quantity: str, samples: Iterable[float], unit: str, condition: str, how: str) -> Measurement:
    """A reading of `samples`, which are in whole bytes/s, FLOP/s, Hz or s."""
    in_unit = tuple(sample / scale_of(unit) for sample in samples)
    return Measurement(
        quantity=quantity, value=median(in_unit), unit=unit, condition=condition, samples=in_unit, how=how
    )

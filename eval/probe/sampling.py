"""How a probe times: calls take turns in batches; the result is the median, with all samples kept."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import NamedTuple

from kb.types.measurement import Measurement, scale_of

WARM_ROUNDS = 2
"""Rounds that come first and do not count, because clocks rise and memory is allocated in them."""
LEAST_ROUNDS = 5

Call = Callable[[], object]
Clock = Callable[[Call, int], float]
"""Returns the seconds that a number of calls take."""
Steps = dict[str, Callable[[], list[Measurement]]]
"""The parts of a probe by name, each of which may fail without the others."""


class Extent(NamedTuple):
    """Amount of timing. The defaults make caches and the resolution of clocks negligible on any current device."""

    copied_bytes: tuple[int, ...]
    """Sizes of one copy; the smaller ones cycle through memory of the largest size."""
    matrix_sizes: tuple[int, ...]
    """Numbers of rows of square matrices."""
    batch_s: float
    """Approximate time of a batch of calls."""
    rounds: int
    step_s: float
    """Time limit for a step; after it only the minimum number of rounds is completed."""


def sampled(calls: Sequence[Call], clock: Clock, extent: Extent) -> list[tuple[float, ...]]:
    """Seconds per call for each of `calls`: one sample per round, in which all calls take turns."""
    counts = []
    for call in calls:
        clock(call, 1)  # compiles, loads libraries, allocates memory
        counts.append(max(1, math.ceil(extent.batch_s / max(clock(call, 1), 1e-9))))
    rounds: list[list[float]] = []
    deadline = time.monotonic() + extent.step_s
    least, most = LEAST_ROUNDS + WARM_ROUNDS, extent.rounds + WARM_ROUNDS
    while len(rounds) < least or (len(rounds) < most and time.monotonic() < deadline):
        rounds.append([clock(call, count) / count for call, count in zip(calls, counts, strict=True)])
    return list(zip(*rounds[WARM_ROUNDS:], strict=True))


def wall_clock(call: Call, count: int) -> float:
    """Seconds for `count` calls by the host's clock, for calls that return only when they are finished."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    return time.perf_counter() - start


def reported(quantity: str, value: float, unit: str, condition: str, how: str) -> Measurement:
    """A measurement that the system reports, so it has no samples."""
    return Measurement(quantity=quantity, value=value, unit=unit, condition=condition, how=how)


def timed(quantity: str, samples: Iterable[float], unit: str, condition: str, how: str) -> Measurement:
    """A measurement from `samples`, which are in bytes/s, FLOP/s, Hz or s."""
    in_unit = tuple(sample / scale_of(unit) for sample in samples)
    return Measurement(
        quantity=quantity, value=median(in_unit), unit=unit, condition=condition, samples=in_unit, how=how
    )

"""Searches the parameters of one kernel: values that somebody proposes, random ones, then neighbours of the best.

This is the machine's half of a search on two levels (EGG, arXiv:2606.26758; Helion's hybrid search): a model chooses
structures, and the tuner finds the values for each.
"""

import random
from collections.abc import Iterator, Mapping, Sequence

from kb.types.kernels import Parameter

Point = Mapping[str, int]
RANDOM_POINTS = 5
"""Points at random beside the proposed ones. Helion's search has 10; `benchmarks/replay.py` was sooner near with 5."""
DRAWS = 100
"""Random points among which an untried one is looked for, since a space may be too large to list."""
MOST_POINTS = 40
LEAST_POINTS = 9
"""Points that a kernel gets however little time is left for them: its own, and as many as its author must propose."""
ELITE = 3
"""The best points whose neighbours are tried: one alone may owe its place to noise, or stand on a plateau."""
FINALISTS = 2
"""Points that are judged in full."""
VERDICTS = 1 + FINALISTS
"""Verdicts on a structure with parameters: on the kernel as it was written, and on its best settings."""
SHARE = 1 / 2
"""Most of the judge's time that quick timings take where authors write: tuning a structure takes at most as long as its
three verdicts. On six measured grids the better of two finalists takes 1.05 to 1.10 times as long as the best setting
after 15 settings, and 1.03 to 1.04 after 30 (replay-cpu.json, replay-h200.json). The tuner alone has all the time."""
GAIN = 0.98
"""A point is judged in full if its quick time is at most this share of that of the kernel as it was written."""


def most_points(quick_s: float, judged_s: float, share: float = SHARE) -> int:
    """Most points of a kernel, where quick timings and verdicts have taken these seconds."""
    return LEAST_POINTS if judged_s and quick_s > share * (quick_s + judged_s) else MOST_POINTS


def next_point(
    space: Sequence[Parameter],
    proposed: Sequence[Point],
    tried: Sequence[tuple[Point, float | None]],
    *,
    seed: int,
    most: int = MOST_POINTS,
) -> dict[str, int] | None:
    """The point to time quickly next.

    First the values of the kernel as it is, the proposed ones and random ones; then the untried neighbours of the best
    points so far, which differ from one of them in one parameter by one choice; and when they are used up, random ones
    again, up to `most` in all.

    Args:
        tried: Points with their times in microseconds; None for a point that was refused.
        seed: Seed of the random choices. Equal arguments give equal points.

    Returns:
        The point; None if the search is over, or the kernel as it is was refused.
    """
    own = {parameter.name: parameter.value for parameter in space}
    times = {_key(point): time_us for point, time_us in tried}
    if not space or len(times) >= most or times.get(_key(own), 0.0) is None:
        return None
    drawn = _random_points(space, f"{seed}", RANDOM_POINTS)
    for point in (own, *(_valid(space, own, given) for given in proposed), *drawn):
        if _key(point) not in times:
            return point
    turn = f"{seed} {len(times)}"
    for best in _ranked(tried)[:ELITE]:
        if near := [point for point in _neighbours(space, best) if _key(point) not in times]:
            return _random(turn).choice(near)
    return next((point for point in _random_points(space, turn, DRAWS) if _key(point) not in times), None)


def finalists(space: Sequence[Parameter], tried: Sequence[tuple[Point, float | None]]) -> list[dict[str, int]]:
    """The points to judge in full, fastest first: those that are clearly faster than the kernel as it is."""
    own = _key({parameter.name: parameter.value for parameter in space})
    times = {_key(point): time_us for point, time_us in tried}
    limit_us = GAIN * (times.get(own) or 0.0)
    return [dict(point) for point in _ranked(tried) if (times[_key(point)] or 0.0) <= limit_us][:FINALISTS]


def _ranked(tried: Sequence[tuple[Point, float | None]]) -> list[Point]:
    timed = [(time_us, point) for point, time_us in tried if time_us is not None]
    return [point for _, point in sorted(timed, key=lambda pair: pair[0])]


def _random(seed: str) -> random.Random:
    return random.Random(seed)  # noqa: S311 - a search, not a secret


def _random_points(space: Sequence[Parameter], seed: str, count: int) -> Iterator[dict[str, int]]:
    draw = _random(seed)
    return ({p.name: draw.choice(p.choices) for p in space} for _ in range(count))


def _valid(space: Sequence[Parameter], own: Point, given: Point) -> dict[str, int]:
    """A proposed point, with the kernel's own value wherever it names none of the choices."""
    return {p.name: v if (v := given.get(p.name)) in p.choices else own[p.name] for p in space}


def _neighbours(space: Sequence[Parameter], point: Point) -> list[dict[str, int]]:
    """Points that differ from `point` in one parameter by one choice, in a stable order."""
    found = []
    for parameter in space:
        ordered = sorted({*parameter.choices, point[parameter.name]})
        place = ordered.index(point[parameter.name])
        near = [*ordered[max(0, place - 1) : place], *ordered[place + 1 : place + 2]]
        found += [{**point, parameter.name: value} for value in near if value in parameter.choices]
    return found


def _key(point: Point) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(point.items()))

"""Greedy descent with restarts over a grid of parameters."""

import random
from collections.abc import Mapping, Sequence
from itertools import chain, product

from kb.types.kernels import Parameter

Point = Mapping[str, int]
DRAWS = 100
"""Random draws before the grid is scanned in order; a grid may be too large to list."""


def next_point(
    space: Sequence[Parameter], start: Point, tried: Sequence[tuple[Point, float | None]], *, seed: int
) -> dict[str, int] | None:
    """The point to try next.

    First `start`; then the untried neighbours of the best point so far, which differ from it in one parameter by one
    choice; when they are used up, a random untried point (the restart): if it turns out best, its neighbours follow.

    Args:
        tried: Points with their scores, higher is better; None for a point that was refused.
        seed: Seed of the random draws. Equal arguments give equal points.

    Returns:
        The point, or None if every point was tried.
    """
    known = {_key(point): score for point, score in tried}
    if _key(start) not in known:
        return dict(start)
    scored = [(score, point) for point, score in tried if score is not None]
    best = max(scored, key=lambda pair: pair[0])[1] if scored else start
    draw = random.Random(f"{seed} {len(tried)}")  # noqa: S311 - a search, not a secret
    if near := [p for p in _neighbours(space, best) if _key(p) not in known]:
        return draw.choice(near)
    drawn = ({p.name: draw.choice(p.choices) for p in space} for _ in range(DRAWS))
    everything = (
        dict(zip((p.name for p in space), values, strict=True)) for values in product(*(p.choices for p in space))
    )
    return next((point for point in chain(drawn, everything) if _key(point) not in known), None)


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

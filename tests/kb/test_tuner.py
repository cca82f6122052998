"""The tuner tries proposed, random and then neighbouring values, and hands on the fastest."""

import random

import pytest

from kb.tuner import FINALISTS, MOST_POINTS, Point, finalists, next_point
from kb.types.kernels import Parameter

SPACE = (
    Parameter(name="BLOCK", value=32, choices=(32, 64, 128, 256, 512)),
    Parameter(name="WARPS", value=1, choices=(1, 2, 4, 8)),
    Parameter(name="STAGES", value=1, choices=(1, 2, 3)),
)
BEST = {"BLOCK": 256, "WARPS": 4, "STAGES": 2}


def time_us(point: Point) -> float:
    """Shortest at BEST; each step away from it costs a tenth."""
    return 100.0 * 1.1 ** sum(abs(p.choices.index(point[p.name]) - p.choices.index(BEST[p.name])) for p in SPACE)


def searched(*proposed: Point, seed: int = 0, refused: Point | None = None) -> list[tuple[Point, float | None]]:
    tried: list[tuple[Point, float | None]] = []
    while (point := next_point(SPACE, proposed, tried, seed=seed)) is not None:
        assert all(point != other for other, _ in tried), "no point is timed twice"
        tried.append((point, None if point == refused else time_us(point)))
    return tried


def test_the_kernel_as_it_is_comes_first_then_what_its_author_proposes() -> None:
    tried = searched(BEST, {"BLOCK": 64})

    assert [point for point, _ in tried[:3]] == [
        {"BLOCK": 32, "WARPS": 1, "STAGES": 1}, BEST, {"BLOCK": 64, "WARPS": 1, "STAGES": 1},
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_the_search_ends_at_the_best_point_of_a_smooth_space_and_within_its_limit(seed: int) -> None:
    tried = searched(seed=seed)

    assert finalists(SPACE, tried)[0] == BEST
    assert len(tried) <= MOST_POINTS
    assert tried == searched(seed=seed)


def test_proposed_values_that_are_no_choices_are_left_as_they_are() -> None:
    own = {p.name: p.value for p in SPACE}
    proposed = {"BLOCK": 48, "WARPS": 2, "OTHER": 1}

    assert next_point(SPACE, [proposed], [(own, 9.0)], seed=0) == {**own, "WARPS": 2}


def test_a_refused_point_is_never_a_finalist_and_the_search_goes_around_it() -> None:
    tried = searched(refused=BEST)

    best = finalists(SPACE, tried)
    assert len(best) == FINALISTS
    assert BEST not in best
    assert time_us(best[0]) == pytest.approx(110.0)


def test_the_search_goes_on_at_random_when_all_neighbours_of_the_best_points_are_tried() -> None:
    tried = searched()

    assert len(tried) == MOST_POINTS
    assert any(time_us(point) > 1.1 * time_us(BEST) for point, _ in tried[-5:])


def test_a_small_space_is_searched_until_no_point_is_left() -> None:
    space = (Parameter(name="WARPS", value=1, choices=(1, 2, 4)),)
    tried: list[tuple[Point, float | None]] = []
    while (point := next_point(space, [], tried, seed=0)) is not None:
        tried.append((point, 1.0))

    assert sorted(point["WARPS"] for point, _ in tried) == [1, 2, 4]


@pytest.mark.parametrize(
    ("space", "tried"),
    [((), []), (SPACE, [({p.name: p.value for p in SPACE}, None)])],
    ids=["no parameters", "the kernel as it is was refused"],
)
def test_there_is_nothing_to_tune(space: tuple[Parameter, ...], tried: list[tuple[Point, float | None]]) -> None:
    assert next_point(space, [], tried, seed=0) is None
    assert finalists(space, tried) == []


def test_nothing_is_judged_again_for_a_gain_within_noise() -> None:
    own = {p.name: p.value for p in SPACE}

    assert finalists(SPACE, [(own, 100.0), (BEST, 99.0)]) == []


def test_two_thousand_points_are_not_listed() -> None:
    huge = tuple(Parameter(name=f"P{n}", value=0, choices=tuple(range(50))) for n in range(40))

    assert next_point(huge, [], [({p.name: 0 for p in huge}, 1.0)], seed=random.Random(0).randrange(9)) is not None

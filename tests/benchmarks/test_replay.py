"""Replayed searches see one grid, begin at one setting and differ in nothing but what they time next."""

import json
from importlib.util import find_spec
from itertools import product
from math import inf, prod
from pathlib import Path

import pytest

from benchmarks.quick_grid import CHOICES, PASSES, SKILLS, with_choices
from benchmarks.replay import Grid, Search, Setting, as_grid, at_random, compared, greedy, replayed, tpe, tuner
from kb.tuner import MOST_POINTS
from kb.types.kernels import Parameter

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
SPACE = [Parameter(name=name, value=0, choices=tuple(range(8))) for name in ("X", "Y")]
BOWL = {(x, y): 100.0 + 10 * (abs(x - 5) + abs(y - 2)) for x, y in product(range(8), repeat=2)}
GRID = Grid(SPACE, BOWL, [1.0, 1.0, 1.2])
NO_TPE = pytest.mark.skipif(not find_spec("optuna"), reason="optuna is not installed")
SEARCHES = [tuner, at_random, greedy, pytest.param(tpe, marks=NO_TPE)]


@pytest.mark.parametrize("search", SEARCHES)
def test_a_search_begins_at_the_kernel_as_it_is_and_times_no_setting_twice(search: Search) -> None:
    timed: list[Setting] = []

    def time_us(setting: Setting) -> float:
        return BOWL[setting["X"], setting["Y"]]

    for setting in search(SPACE, time_us, 3):
        timed.append(setting)
        if len(timed) == MOST_POINTS:
            break

    assert timed[0] == {"X": 0, "Y": 0}
    assert all(setting not in timed[:place] for place, setting in enumerate(timed))


@pytest.mark.parametrize("noise", [False, True])
@pytest.mark.parametrize("search", SEARCHES)
def test_a_replay_is_the_same_each_time(search: Search, noise: bool) -> None:
    assert replayed(search, GRID, 1, noise=noise) == replayed(search, GRID, 1, noise=noise)


def test_a_search_is_scored_by_true_times_and_one_that_is_never_near_counts_with_one_more_than_all() -> None:
    def lazy(space: object, time_us: object, seed: int) -> list[Setting]:
        return [{"X": 0, "Y": 2}, {"X": 1, "Y": 2}]

    found = replayed(lazy, GRID, 0, noise=True)

    assert (found.timed, found.needed, found.left) == (2, MOST_POINTS + 1, 1.4)


def test_a_refused_setting_has_no_time_is_no_start_and_does_not_end_a_search() -> None:
    stored = {"space": SPACE, "times_us": {f"{x} {y}": [] if x == 5 else [us] * 3 for (x, y), us in BOWL.items()}}
    grid = as_grid(stored)

    assert {values for values, time_us in grid.true_us.items() if time_us == inf} == {(5, y) for y in range(8)}
    assert set(grid.ratios) == {1.0}
    for search in (tuner, at_random, greedy, *[tpe] * bool(find_spec("optuna"))):
        for seed in range(20):
            assert replayed(search, grid, seed, noise=True).left < inf


def test_on_a_bowl_the_tuner_needs_fewer_settings_than_random_ones() -> None:
    scores = compared({"bowl": GRID}, {"tuner": tuner, "random": at_random}, 20, noise=False)

    assert scores["tuner"]["tuner needs"]["mean"] == 1.0
    assert scores["random"]["tuner needs"]["high"] < 1.0


@pytest.mark.parametrize("name", CHOICES)
def test_the_copies_of_the_kernels_have_the_choices_of_the_benchmark(name: str) -> None:
    kernel = with_choices((SKILLS / name / "scripts" / "kernel.cpp").read_text(encoding="utf-8"), CHOICES[name])

    assert CHOICES[name].items() <= {p.name: p.choices for p in kernel.parameters}.items()
    assert 100 <= prod(len(p.choices) for p in kernel.parameters) <= 200


@pytest.mark.parametrize(("file", "passes"), [("replay-cpu.json", PASSES), ("replay-h200.json", 9)])
def test_a_result_holds_whole_grids(file: str, passes: int) -> None:
    for stored in json.loads((RESULTS / file).read_text(encoding="utf-8"))["grids"].values():
        grid = as_grid(stored)

        assert set(grid.true_us) == set(product(*(p.choices for p in grid.space)))
        assert {len(times) for times in stored["times_us"].values()} <= {passes, 0}
        assert [time_us for time_us in grid.true_us.values() if time_us < inf]

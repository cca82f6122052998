"""Replay ways to search the parameters of kernels on measured grids: settings timed until one is near the best.

    nice -n 5 python -m benchmarks.replay --grids FOLDER --out benchmarks/results/replay-cpu.json

The grids are those of `quick_grid.py` or `triton_grid.py`; without --grids, those in the result. The true time of a
setting is the lower median of its passes, so the shorter one of two. With `noise`, a search sees it times a ratio that
is drawn from those of all passes of the kernel to the true times, the same for all searches with one seed. A setting
that was refused has no time. All searches begin at the same setting, drawn by the seed from those with a time, and know
nothing else of the kernel. Needs optuna (`pip install optuna`) for TPE, which is left out without it.
"""

import argparse
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import islice, product
from math import exp, inf, log
from pathlib import Path
from statistics import fmean, median_low
from typing import Any, NamedTuple

from benchmarks.near_best import interval
from benchmarks.origin import write_result
from kb.tuner import MOST_POINTS, next_point
from kb.types.kernels import Parameter

LIBRARIES = ("kb-hardware", "torch")
NEAR = 1.05
"""A setting is near the best if it takes at most so many times as long."""
FINALISTS = 2
COUNTS = (10, 15, 20, 30, 40)
COUNTED = tuple(enumerate(COUNTS))

Space = Sequence[Parameter]
Setting = Mapping[str, int]
Values = tuple[int, ...]
"""A setting without names, in the order of the space."""
Timer = Callable[[Setting], float]
"""Infinity for a setting that is refused."""
Search = Callable[[Space, Timer, int], Iterator[Setting]]
"""Yields settings as it times them, from those that the parameters have as they are; the number is a seed."""


class Grid(NamedTuple):
    """The measured settings of one kernel."""

    space: Space
    true_us: dict[Values, float]
    ratios: list[float]
    """Times over true times, of all passes."""


class Found(NamedTuple):
    """One replayed search."""

    timed: int
    needed: int
    """Settings timed until one was near the best; one more than all if none was."""
    left: float
    """How many times as long as the best the better of its finalists takes: of those that it saw as the fastest two."""
    left_after: tuple[float, ...]
    """The same had it ended after each of the `COUNTS`."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--grids", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=50)
    options = parser.parse_args()
    stored = (
        {file.stem: _rows(file) for file in sorted(options.grids.glob("*.jsonl"))}
        if options.grids
        else json.loads(options.out.read_text(encoding="utf-8"))["grids"]
    )
    grids = {name: as_grid(given) for name, given in stored.items()}
    searches: dict[str, Search] = {"tuner": tuner, "random": at_random, "greedy": greedy}
    if find_spec("optuna"):
        searches["tpe"] = tpe
    else:
        print("TPE is left out: optuna is not installed")
    write_result(
        options.out,
        {"evaluations": MOST_POINTS, "seeds": options.seeds}
        | {key: compared(grids, searches, options.seeds, noise=key == "noise") for key in ("exact", "noise")}
        | {"grids": stored},
        (*LIBRARIES, *(["optuna"] if "tpe" in searches else [])),
    )


def _rows(file: Path) -> dict[str, Any]:
    """What was measured: the space and its origin, and for each setting its times in microseconds, none if refused."""
    first, *rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    times: dict[str, list[float]] = {}
    for row in rows:
        of_setting = times.setdefault(" ".join(map(str, row["values"].values())), [])
        of_setting += [round(row["time_us"], 2)] if row["time_us"] else []
    return {**first, "times_us": times}


def as_grid(stored: Mapping[str, Any]) -> Grid:
    times_us = {tuple(map(int, key.split())): times for key, times in stored["times_us"].items()}
    true_us = {values: median_low(times or [inf]) for values, times in times_us.items()}
    ratios = [time / true_us[values] for values, times in times_us.items() for time in times]
    return Grid([Parameter.model_validate(given) for given in stored["space"]], true_us, ratios)


def compared(grids: Mapping[str, Grid], searches: Mapping[str, Search], seeds: int, *, noise: bool) -> dict[str, Any]:
    """The means of what each search found; how many times as many settings the tuner needs; what it leaves less."""
    found = {
        (name, kernel): [replayed(search, grid, seed, noise=noise) for seed in range(seeds)]
        for name, search in searches.items()
        for kernel, grid in grids.items()
    }

    def scores(name: str, kernels: Sequence[str]) -> dict[str, Any]:
        own = {kernel: found[name, kernel] for kernel in kernels}
        pairs = {kernel: list(zip(runs, found["tuner", kernel], strict=True)) for kernel, runs in own.items()}
        logs = {kernel: [log(base.needed / one.needed) for one, base in both] for kernel, both in pairs.items()}
        return {
            "timed": fmean(one.timed for runs in own.values() for one in runs),
            "evaluations": interval({kernel: [one.needed for one in runs] for kernel, runs in own.items()}),
            "tuner needs": {end: exp(value) for end, value in interval(logs).items()},
            "near after": {n: fmean(one.needed <= n for runs in own.values() for one in runs) for n in COUNTS},
            "left after": {n: fmean(one.left_after[i] for runs in own.values() for one in runs) for i, n in COUNTED},
            "left": interval({kernel: [one.left for one in runs] for kernel, runs in own.items()}),
            "more left": interval(
                {kernel: [one.left - base.left for one, base in both] for kernel, both in pairs.items()}
            ),
        }

    return {
        name: scores(name, list(grids)) | {"kernels": {kernel: scores(name, [kernel]) for kernel in grids}}
        for name in searches
    }


def replayed(search: Search, grid: Grid, seed: int, *, noise: bool) -> Found:
    """What a search finds on a grid, with at most `MOST_POINTS` settings."""
    start = random.Random(seed).choice(sorted(values for values, time in grid.true_us.items() if time < inf))
    space = [p.model_copy(update={"value": value}) for p, value in zip(grid.space, start, strict=True)]

    def time_us(setting: Setting) -> float:
        values = tuple(setting[p.name] for p in space)
        return grid.true_us[values] * (random.Random(f"{seed} {values}").choice(grid.ratios) if noise else 1.0)

    timed = list(islice(search(space, time_us, seed), MOST_POINTS))
    best_us = min(grid.true_us.values())
    costs = [grid.true_us[tuple(setting[p.name] for p in space)] / best_us for setting in timed]
    near = (number for number, cost in enumerate(costs, start=1) if cost <= NEAR)
    seen = [time_us(setting) for setting in timed]

    def left(count: int) -> float:
        order = sorted(range(min(count, len(timed))), key=seen.__getitem__)
        return min(costs[place] for place in order[:FINALISTS])

    return Found(len(timed), next(near, MOST_POINTS + 1), left(len(timed)), tuple(map(left, COUNTS)))


def tuner(space: Space, time_us: Timer, seed: int) -> Iterator[Setting]:
    """kb's tuner, when nobody proposed a setting."""

    def following(tried: Sequence[tuple[Setting, float]]) -> Setting | None:
        return next_point(space, [], [(setting, time if time < inf else None) for setting, time in tried], seed=seed)

    return _asked(following, time_us)


def greedy(space: Space, time_us: Timer, seed: int) -> Iterator[Setting]:
    """What kb did before: untried neighbours of the best so far, and when there are none a setting at random."""

    def following(tried: Sequence[tuple[Setting, float]]) -> Setting:
        if not tried:
            return _own(space)
        known = [setting for setting, _ in tried]
        best = min(tried, key=lambda pair: pair[1])[0]
        draw = random.Random(f"{seed} {len(tried)}")
        near = [s for s in _all(space) if s not in known and _is_neighbour(space, s, best)]
        return draw.choice(near or [s for s in _all(space) if s not in known])

    return _asked(following, time_us)


def at_random(space: Space, time_us: Timer, seed: int) -> Iterator[Setting]:
    """Settings at random, none twice."""
    rest = [setting for setting in _all(space) if setting != _own(space)]
    yield _own(space)
    yield from random.Random(seed).sample(rest, len(rest))


def tpe(space: Space, time_us: Timer, seed: int) -> Iterator[Setting]:
    """optuna's TPE with its defaults, on places in the order of the choices. A repeated setting costs nothing.

    A refused one counts as pruned, so that the sampler avoids it.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.enqueue_trial({p.name: p.choices.index(p.value) for p in space})
    seen: list[Setting] = []
    for _ in range(5 * MOST_POINTS):
        trial = study.ask()
        setting = {p.name: p.choices[trial.suggest_int(p.name, 0, len(p.choices) - 1)] for p in space}
        time = time_us(setting)
        study.tell(trial, *([time] if time < inf else [None, optuna.trial.TrialState.PRUNED]))
        if setting not in seen:
            seen.append(setting)
            yield setting


def _asked(following: Callable[..., Setting | None], time_us: Timer) -> Iterator[Setting]:
    tried: list[tuple[Setting, float]] = []
    while (setting := following(tried=tried)) is not None:
        tried.append((setting, time_us(setting)))
        yield setting


def _own(space: Space) -> Setting:
    return {p.name: p.value for p in space}


def _all(space: Space) -> list[Setting]:
    return [dict(zip((p.name for p in space), v, strict=True)) for v in product(*(p.choices for p in space))]


def _is_neighbour(space: Space, one: Setting, other: Setting) -> bool:
    """Whether two settings differ in one parameter by one choice."""
    return sum(abs(p.choices.index(one[p.name]) - p.choices.index(other[p.name])) for p in space) == 1


if __name__ == "__main__":
    main()

"""What `benchmarks.growth` measures: work on a library, a run and a campaign, each as a function of a home."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from starlette.datastructures import QueryParams

from benchmarks import made_up
from kb.campaign import drive
from kb.campaign.allot import Standing, next_slice, slices, standing_of
from kb.campaign.file import Campaign
from kb.runs.journal import Run
from kb.runs.skills import fitting_skills, need_of
from kb.settings import Settings
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.running import loop_of
from kb.web import reading
from kb.web.pages import environment
from synth.authors.asking import Desk, Notes, Seat
from synth.authors.spending import Budget, Model
from synth.authors.synthesizer import Synthesizer
from synth.search.moves import State, next_moves

LOOP_STEPS = 5
Measure = Callable[[Path], float]
"""Takes a home that it may change; returns seconds."""


class Subject(NamedTuple):
    grows: str
    sizes: tuple[int, ...]
    make: Callable[[Path, int], object]
    measures: dict[str, Measure]


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def opened(work: Callable[..., object], before: Callable[[KnowledgeBase], Any] = lambda kb: kb) -> Measure:
    """Work in an open home on what `before` gives, whose time does not count."""

    def measure(home: Path) -> float:
        with KnowledgeBase(Settings(home=home)) as kb:
            given = before(kb)
            return timed(lambda: work(given))

    return measure


def command(*words: str) -> Measure:
    """A command from its start to its end; RUN stands for the id of the run."""

    def measure(home: Path) -> float:
        run = next((folder.name for folder in home.glob("runs/*")), "")
        line = [sys.executable, "-m", "kb.cli", *(run if word == "RUN" else word for word in words)]
        place = os.environ | {"KB_HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[1])}
        with tempfile.TemporaryDirectory() as folder:
            return timed(lambda: subprocess.run(line, cwd=folder, env=place, check=True, capture_output=True))

    return measure


def page(name: str) -> Measure:
    def show(kb: KnowledgeBase) -> str:
        query = QueryParams({"id": next((kb.settings.home / "runs").iterdir()).name} if name == "run" else {})
        template, values = reading.PAGES[f"/{name}"](kb, query)
        return environment().get_template(template).render(values, token="")

    return opened(show)


# A library


def known(kb: KnowledgeBase) -> KnowledgeBase:
    kb.skills.skills()
    return kb


def fitting(kb: KnowledgeBase) -> object:
    plan = made_up.plan_of(made_up.task_of(0))
    need = need_of(plan, made_up.INTERFACE, kb.targets.scope(plan.target), frozenset())
    return fitting_skills(kb.skills, plan, need)


# A run


def run_of(kb: KnowledgeBase) -> Run:
    return next(iter(kb.runs))


def moved(run: Run) -> object:
    return next_moves(State(language=run.plan.language, attempts=run.attempts, tried=run.tried), writes=True)


def one_more(run: Run) -> object:
    """As the loop records a candidate and its verdict, and looks at the result."""
    for entry in [*made_up.entries(run.plan.task, 1)][2:4]:
        run.append(entry.model_copy(update={"step": run.step}))
    return run.attempts[-1]


class EnoughError(Exception):
    """The loop has made as many steps as are wanted."""


def loop_step(home: Path) -> float:
    """The median time between two calls of the judge while an author writes and the tuner tunes."""
    calls: list[float] = []

    class Clock(made_up.MadeUpJudge):
        def called(self) -> None:
            calls.append(time.perf_counter())
            if len(calls) > LOOP_STEPS:
                raise EnoughError

    with KnowledgeBase(Settings(home=home)) as kb, suppress(EnoughError):
        run = run_of(kb)
        loop = loop_of(kb, run)
        desk = Desk([Seat(made_up.MadeUpAuthor(), Model(), free=True)], Notes(), Budget())
        loop.optimize(Synthesizer(desk, loop.language), Clock(run.plan.task))
    return statistics.median(later - earlier for earlier, later in pairwise(calls))


# A campaign


class Begun(NamedTuple):
    campaign: Campaign
    runs: list[Run | None]
    standings: list[Standing]


def campaign_of(kb: KnowledgeBase) -> tuple[KnowledgeBase, Campaign]:
    found = drive.stored(kb, made_up.CAMPAIGN)
    assert found
    return kb, found


def begun(kb: KnowledgeBase) -> Begun:
    _, campaign = campaign_of(kb)
    runs = drive.runs_of(kb, campaign)
    return Begun(campaign, runs, [standing_of(run) for run in runs])


def next_run(its: Begun) -> object:
    """As after each slice: the standing of one run is new."""
    standings = [standing_of(its.runs[0]), *its.standings[1:]]
    return next_slice(standings, its.campaign.budget, its.campaign.each)


def whole_round(its: Begun) -> object:
    standings = [standing_of(run) for run in its.runs]
    return [*slices(standings, its.campaign.budget, its.campaign.each)]


LIBRARY = {
    "list, read for the first time": opened(lambda kb: kb.skills.skills()),
    "list again": opened(lambda kb: kb.skills.skills(), known),
    "select for a prompt": opened(fitting, known),
    "write one more": opened(lambda kb: kb.skills.publish(made_up.skill(time.time_ns())), known),
    "kb skills list": command("skills", "list"),
    "page of skills": page("skills"),
}
RUN = {
    "open": opened(run_of),
    "next move": opened(moved, run_of),
    "append a verdict": opened(one_more, run_of),
    "step of the loop": loop_step,
    "kb runs show": command("runs", "show", "RUN"),
    "kb report": command("report", "RUN"),
    "page of the run": page("run"),
}
CAMPAIGN = {
    "table": opened(lambda its: drive.report(*its), campaign_of),
    "choose the next run": opened(next_run, begun),
    "round of a carried campaign": opened(whole_round, begun),
    "kb report CAMPAIGN": command("report", made_up.CAMPAIGN),
}
SUBJECTS = {
    "library": Subject("skills", (100, 1_000, 10_000), made_up.make_library, LIBRARY),
    "run": Subject("candidates", (50, 500, 5_000), made_up.make_run, RUN),
    "campaign": Subject("tasks", (10, 100, 1_000), made_up.make_campaign, CAMPAIGN),
}

"""The workers of a candidate for its sessions: which start together, and that all end."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from eval.clock.baseline_sources import EAGER, SOURCES, worker_settings
from eval.clock.baselines import Baselines
from eval.clock.candidate_workers import CandidateWorkers
from eval.languages.registry import TORCH
from eval.machine import sandbox_level
from eval.supervisor.trial import Trial
from eval.worker.fault import Fault
from kb.types.kernels import Candidate
from kb.types.timing import WIN_SESSIONS
from tests.eval.judging import PATIENCE_S, needs_linux, reference, task

pytestmark = needs_linux
trial_of: Callable[..., Trial] = partial(
    Trial, language=TORCH, level=sandbox_level(), call_s=PATIENCE_S, **worker_settings()
)


def a_trial(comment: str = "") -> Trial:
    return trial_of(Candidate(language="torch", source=f"{task('scale').source}\nModelNew = Model  # {comment}"))


@pytest.fixture(params=[WIN_SESSIONS])
def running(request: pytest.FixtureRequest) -> Iterator[Baselines]:
    room: Any = request.param if callable(request.param) else lambda _: request.param
    found = Baselines(task("scale"), reference("scale"), {EAGER: SOURCES[EAGER]}, trial_of, room=room)
    found.start()
    yield found
    found.close()


def pids(workers: CandidateWorkers, baselines: Baselines, number: int) -> set[int]:
    """The processes of the candidate that run in a session, counted from 0."""
    baselines.begin(number)
    with workers.for_session(number) as own:
        assert own.call(baselines.case.inputs).outputs
        waiting = [pending.result().worker for pending in workers._ahead]
        assert all(worker.is_alive for worker in (own.worker, *waiting))
        return {worker.pid for worker in (own.worker, *waiting)}


def sessions(baselines: Baselines, comment: str = "") -> list[set[int]]:
    with CandidateWorkers(a_trial(comment), baselines) as workers:
        found = [pids(workers, baselines, number) for number in range(WIN_SESSIONS)]
        workers.finish()
    return found


def test_no_two_sessions_of_a_candidate_share_a_process(running: Baselines) -> None:
    with CandidateWorkers(a_trial(), running) as workers:
        used = []
        for number in range(WIN_SESSIONS + 1):
            running.begin(number)
            with workers.for_session(number) as own:
                used.append(own.worker.pid)

    assert len(set(used)) == len(used)


def test_workers_start_together_for_the_sessions_whose_baselines_run(running: Baselines) -> None:
    assert [len(found) for found in sessions(running)] == [1, 2, 1], "no candidate starts before its baselines"
    assert [len(found) for found in sessions(running)] == [3, 2, 1], "those of the candidate before still run"


def test_one_that_chooses_its_settings_by_times_has_the_device_alone_in_its_first_call(running: Baselines) -> None:
    sessions(running)

    assert [len(found) for found in sessions(running, "@triton.autotune")] == [1, 2, 1]


@pytest.mark.parametrize("running", [lambda count: 3 if count == 1 else 2, 1], indirect=True)
def test_each_starts_for_itself_where_the_memory_is_full(running: Baselines) -> None:
    sessions(running)

    assert [len(found) for found in sessions(running)] == [1, 1, 1]


def test_one_that_does_not_end_as_it_should_is_refused_and_all_are_gone(running: Baselines) -> None:
    sessions(running)
    with CandidateWorkers(a_trial("\nimport atexit, os\natexit.register(os._exit, 3)"), running) as workers:
        running.begin(0)
        with workers.for_session(0) as own:
            others = [pending.result() for pending in workers._ahead]
        with pytest.raises(Fault, match="at the end"):
            workers.finish()

    assert len(others) == WIN_SESSIONS - 1
    assert not any(each.worker.is_alive for each in (own, *others))

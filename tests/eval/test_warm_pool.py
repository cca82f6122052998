"""A worker may start before it has its candidate, serves one alone, and is compiled for once."""

import errno
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from eval.clock.baseline_sources import EAGER
from eval.clock.baselines import Baselines
from eval.clock.quick_timing import quick_time_us
from eval.selftest.known import CORRECT
from eval.supervisor.device_memory import DeviceMemory
from eval.supervisor.folder import MOST_FILES, Artifacts, collect
from eval.supervisor.launch import Launch
from eval.supervisor.process import WorkerProcess
from eval.supervisor.trial import Trial
from eval.supervisor.warm_pool import WarmPool
from eval.worker.fault import Fault
from kb.types.kernels import Candidate
from tests.eval.fake_gpu import FakeDriver
from tests.eval.judging import given_case, is_alive, needs_compiler, needs_linux, reference, task
from tests.eval.judging import trial_of as trial_of_file
from tests.eval.test_device_memory import HONEST, ON_FAKE

pytestmark = needs_linux


@pytest.fixture
def warm_pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WarmPool]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = WarmPool()
    yield found
    found.close()
    assert list(tmp_path.iterdir()) == [], "no worker leaves its folder"


def trial_of(warm_pool: WarmPool, source: str = "# nothing") -> Trial:
    return Trial(
        Candidate(language="torch", source=source), language=ON_FAKE, level=0, call_s=60.0, warm_pool=warm_pool
    )


def test_the_next_candidate_gets_a_worker_that_has_started(warm_pool: WarmPool) -> None:
    trial_of(warm_pool).start_warm_workers(checks=1, sessions=1)
    warm_pool.wait()

    with trial_of(warm_pool, HONEST).worker() as worker, trial_of(warm_pool).worker() as another:
        assert "torch" in (worker.folder / "candidate.py").read_text(encoding="utf-8")
        assert len(warm_pool._workers) == 1, "one is left, which checks a candidate"
        assert another.pid != worker.pid, "a worker serves one candidate"


def test_a_candidate_passes_in_a_warm_worker(warm_pool: WarmPool) -> None:
    tried = replace(trial_of(warm_pool, HONEST), memory=DeviceMemory(FakeDriver()))  # type: ignore[arg-type]
    tried.start_warm_workers(checks=1, sessions=0)
    warm_pool.wait()

    tried.check([given_case("scale")], [])

    assert warm_pool._workers == []


def test_a_quick_timing_takes_a_warm_worker_and_leaves_one_for_the_next(warm_pool: WarmPool) -> None:
    memory = DeviceMemory(FakeDriver())  # type: ignore[arg-type]
    long = HONEST.replace("        return", "        time.sleep(0.002)\n        return", 1)
    tried = replace(trial_of(warm_pool, f"import time\n{long}"), memory=memory)
    eager = Baselines(task("scale"), reference("scale"), {EAGER: ""}, lambda _: tried)

    assert quick_time_us(tried, eager) > 0

    assert len(warm_pool._workers) == 1
    eager.close()


def test_settings_must_be_the_same(warm_pool: WarmPool) -> None:
    trial_of(warm_pool).start_warm_workers(checks=1, sessions=1)

    with replace(trial_of(warm_pool), call_s=50.0).worker():
        assert len(warm_pool._workers) == 2


@pytest.mark.slow
def test_workers_for_another_language_stay_until_those_for_a_third_take_their_place(warm_pool: WarmPool) -> None:
    def started(call_s: float) -> WorkerProcess:
        replace(trial_of(warm_pool), call_s=call_s).start_warm_workers(checks=1, sessions=0)
        warm_pool.wait()
        return warm_pool._workers[0][1].result()

    first, second, again = started(60.0), started(50.0), started(60.0)
    assert first is again
    assert is_alive(second.pid)
    started(40.0)
    assert is_alive(first.pid)
    assert not is_alive(second.pid)


def test_workers_that_are_there_are_not_started_again(warm_pool: WarmPool) -> None:
    trial_of(warm_pool).start_warm_workers(checks=1, sessions=1)
    before = list(warm_pool._workers)

    trial_of(warm_pool).start_warm_workers(checks=1, sessions=1)

    assert warm_pool._workers == before


def test_a_worker_that_did_not_start_is_not_used(warm_pool: WarmPool, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(WorkerProcess, "start_warm", fails)
        trial_of(warm_pool).start_warm_workers(checks=1, sessions=1)
        warm_pool.wait()

    with trial_of(warm_pool).worker() as worker:
        assert worker.ask("ping") == {}


def test_a_worker_that_died_meanwhile_is_not_used(warm_pool: WarmPool) -> None:
    trial_of(warm_pool).start_warm_workers(checks=1, sessions=1)
    warm_pool.wait()
    for _, pending in warm_pool._workers:
        os.kill(pending.result().pid, signal.SIGKILL)
        os.waitid(os.P_PID, pending.result().pid, os.WEXITED | os.WNOWAIT)

    with trial_of(warm_pool).worker() as worker:
        assert worker.ask("ping") == {}


def test_a_disk_that_is_full_costs_a_warm_worker_and_no_verdict(
    warm_pool: WarmPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:
        full.setattr(WorkerProcess, "__init__", out_of_space)
        trial_of(warm_pool).start_warm_workers(checks=1, sessions=1)

    assert warm_pool._workers == []


def out_of_space(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "no space")


@pytest.mark.parametrize(("files", "kept"), [(3, 3), (MOST_FILES, 0)])
def test_what_a_candidate_leaves_in_endless_files_is_not_kept(files: int, kept: int, tmp_path: Path) -> None:
    for number in range(files):
        (tmp_path / str(number)).write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "0")
    artifacts: Artifacts = {}

    collect(artifacts, tmp_path)

    assert len(artifacts) == kept


def fails(worker: WorkerProcess) -> None:
    worker.kill()
    raise Fault("crashed", "no memory")


def test_warm_workers_end_while_they_start(warm_pool: WarmPool) -> None:
    trial_of(warm_pool).start_warm_workers(checks=1, sessions=5)
    start = time.monotonic()

    warm_pool.close()

    assert time.monotonic() - start < 5


@needs_compiler
def test_a_candidate_is_compiled_once_for_all_its_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, compile_ = [], Launch.compile

    def counted(launch: Launch) -> None:
        compiled.append(launch.compiler)
        compile_(launch)

    monkeypatch.setattr(Launch, "compile", counted)
    tried = trial_of_file(CORRECT / "scale_openmp.cpp")
    for _ in range(2):
        tried.check([given_case("scale")], [])

    assert len(compiled) == 1
    assert replace(tried, guards=frozenset()).artifacts == {}, "another candidate does not inherit it"

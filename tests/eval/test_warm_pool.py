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

from eval.fault import Fault
from eval.selftest.known import CORRECT
from eval.supervisor.compiled import MOST_FILES, Compiled, keep
from eval.supervisor.device_memory import DeviceMemory
from eval.supervisor.launch import Launch
from eval.supervisor.process import WorkerProcess
from eval.supervisor.trial import Trial
from eval.supervisor.warm_pool import WarmPool
from kb.types.kernels import Candidate
from tests.eval.fake_gpu import FakeDriver
from tests.eval.judging import given_case, is_alive, needs_compiler, needs_linux
from tests.eval.judging import trial_of as trial_of_file
from tests.eval.test_device_memory import HONEST, ON_FAKE

pytestmark = needs_linux


@pytest.fixture
def spares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WarmPool]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = WarmPool()
    yield found
    found.close()
    assert list(tmp_path.iterdir()) == [], "no worker leaves its folder"


def trial_of(spares: WarmPool, source: str = "# nothing") -> Trial:
    return Trial(Candidate(language="torch", source=source), ON_FAKE, 0, 60.0, spares=spares)


def test_the_next_candidate_gets_a_worker_that_has_started(spares: WarmPool) -> None:
    trial_of(spares).start_warm_workers(checks=1, sessions=1)
    spares.wait()

    with trial_of(spares, HONEST).worker() as worker, trial_of(spares).worker() as another:
        assert "torch" in (worker.folder / "candidate.py").read_text(encoding="utf-8")
        assert len(spares._wanted) == 1, "one is left, which checks a candidate"
        assert another.pid != worker.pid, "a spare serves one candidate"


def test_a_candidate_passes_in_a_spare(spares: WarmPool) -> None:
    tried = replace(trial_of(spares, HONEST), memory=DeviceMemory(FakeDriver()))  # type: ignore[arg-type]
    tried.start_warm_workers(checks=1, sessions=0)
    spares.wait()

    tried.check([given_case("scale")], [])

    assert spares._wanted == []


def test_settings_must_be_the_same(spares: WarmPool) -> None:
    trial_of(spares).start_warm_workers(checks=1, sessions=1)

    with replace(trial_of(spares), call_s=50.0).worker():
        assert len(spares._wanted) == 2


def test_spares_for_another_language_stay_until_the_next_candidate_does_not_want_them_either(spares: WarmPool) -> None:
    def started(call_s: float) -> WorkerProcess:
        replace(trial_of(spares), call_s=call_s).start_warm_workers(checks=1, sessions=0)
        spares.wait()
        return spares._wanted[0][1].result()

    first, second, again = started(60.0), started(50.0), started(60.0)
    assert first is again
    assert is_alive(second.pid)
    assert started(60.0) is first
    assert not is_alive(second.pid)


def test_spares_that_are_there_are_not_started_again(spares: WarmPool) -> None:
    trial_of(spares).start_warm_workers(checks=1, sessions=1)
    before = list(spares._wanted)

    trial_of(spares).start_warm_workers(checks=1, sessions=1)

    assert spares._wanted == before


def test_a_spare_that_did_not_start_is_not_used(spares: WarmPool, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(WorkerProcess, "warm", fails)
        trial_of(spares).start_warm_workers(checks=1, sessions=1)
        spares.wait()

    with trial_of(spares).worker() as worker:
        assert worker.ask("ping") == {}


def test_a_spare_that_died_meanwhile_is_not_used(spares: WarmPool) -> None:
    trial_of(spares).start_warm_workers(checks=1, sessions=1)
    spares.wait()
    for _, spare in spares._wanted:
        os.kill(spare.result().pid, signal.SIGKILL)
        os.waitid(os.P_PID, spare.result().pid, os.WEXITED | os.WNOWAIT)

    with trial_of(spares).worker() as worker:
        assert worker.ask("ping") == {}


def test_a_disk_that_is_full_costs_a_spare_and_no_verdict(spares: WarmPool, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as full:
        full.setattr(WorkerProcess, "__init__", out_of_space)
        trial_of(spares).start_warm_workers(checks=1, sessions=1)

    assert spares._wanted == []


def out_of_space(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "no space")


@pytest.mark.parametrize(("files", "kept"), [(3, 3), (MOST_FILES, 0)])
def test_what_a_candidate_leaves_in_endless_files_is_not_kept(files: int, kept: int, tmp_path: Path) -> None:
    for number in range(files):
        (tmp_path / str(number)).write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "0")
    compiled: Compiled = {}

    keep(compiled, tmp_path)

    assert len(compiled) == kept


def fails(worker: WorkerProcess) -> None:
    worker.kill()
    raise Fault("crashed", "no memory")


def test_spares_end_while_they_start(spares: WarmPool) -> None:
    trial_of(spares).start_warm_workers(checks=1, sessions=5)
    start = time.monotonic()

    spares.close()

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
    assert replace(tried, guards=frozenset()).compiled == {}, "another candidate does not inherit it"

"""All processes of a worker are found, stopped, watched and continued."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import pytest

from eval.supervisor import tree
from eval.supervisor.tree import ProcessTree
from eval.worker.fault import Fault
from tests.eval.judging import needs_linux

pytestmark = needs_linux

SLEEPS = "import time; print(flush=True); time.sleep(60)"
SPINS = """
import os, threading
os.fork()
def spin():
    while True: pass
threading.Thread(target=spin).start()
print(flush=True)
"""
BREEDS = """
import os, time
print(flush=True)
for _ in range(200):
    if os.fork() == 0:
        if os.fork() == 0:
            time.sleep(60)
        os._exit(0)
    time.sleep(.005)
time.sleep(60)
"""
"""Starts a process every few milliseconds, 200 in all, each by one that ends: no child goes on to start others."""
MANY = {
    "processes": "import os, time; [os.fork() for _ in range(5)]; time.sleep(.1); print(flush=True); time.sleep(60)",
    "threads": """
import threading, time
for _ in range(30): threading.Thread(target=time.sleep, args=(60,)).start()
print(flush=True)
""",
    "orphans": """
import os, time
for _ in range(30):
    if os.fork() == 0 and os.fork() == 0:
        time.sleep(60)
    if os.getpid() != os.getsid(0): os._exit(0)
print(flush=True)
time.sleep(60)
""",
}


@contextmanager
def running(script: str) -> Iterator[ProcessTree]:
    """The processes of a script that has printed a line."""
    leader = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert leader.stdout
        leader.stdout.readline()
        yield ProcessTree(leader.pid, Path("/tmp"), alone=False)
    finally:
        os.killpg(leader.pid, signal.SIGKILL)
        leader.communicate()


def test_stopped_processes_use_no_processor_time_and_continue_afterwards() -> None:
    with running(SPINS) as processes:
        processes.stop()
        stopped_s = sum(processes._clocks().values())
        time.sleep(0.1)
        assert sum(processes._clocks().values()) == stopped_s
        processes.check_and_resume()
        time.sleep(0.3)
        assert sum(processes._clocks().values()) > stopped_s + 0.05


def test_a_process_that_works_until_it_is_found_stopped_is_at_rest_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    has_stopped = tree._has_stopped

    def works_until_looked_at(pid: int) -> bool:
        used_s[0] = 0.5
        return has_stopped(pid)

    with running(SPINS) as processes:
        [child] = set(processes._pids()) - {processes._leader}
        used_s = [0.0]
        processes._clocks = lambda: {child: used_s[0]}  # type: ignore[method-assign]
        monkeypatch.setattr(tree, "_has_stopped", works_until_looked_at)
        processes.stop()
        assert processes._stopped_at == {child: 0.5}
        processes.check_and_resume()


def test_a_process_that_is_continued_by_another_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    with running(SPINS) as processes:
        processes.stop()
        monkeypatch.setattr(tree, "STOP_S", 0.1)
        [child] = set(processes._pids()) - {processes._leader}
        os.kill(child, signal.SIGCONT)
        time.sleep(0.4)
        with pytest.raises(Fault, match=f"{child} worked while") as caught:
            processes.check_and_resume()

    assert caught.value.outcome == "forbidden"


def test_a_process_that_appears_while_all_are_stopped_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    with running(SLEEPS) as processes:
        processes.stop()
        monkeypatch.setattr(tree, "STOP_S", 0.1)
        joined = subprocess.Popen(["/bin/sleep", "60"])
        pids = [*processes._pids(), joined.pid]
        processes._pids = lambda: pids  # type: ignore[method-assign]
        with pytest.raises(Fault, match=f"{joined.pid} appeared"):
            processes.check_and_resume()
        joined.kill()
        joined.wait()


def session_of(leader: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(ProcessLookupError):
            if os.getsid(int(path.name)) == leader:
                found.append(int(path.name))
    return found


def test_processes_that_appear_between_two_stops_are_stopped_too() -> None:
    with running(BREEDS) as processes:
        counts = []
        for _ in range(10):
            processes.stop()
            found = session_of(processes._leader)
            assert all(map(tree._has_stopped, found))
            assert set(processes._pids()) >= set(found)
            counts.append(len(found))
            processes.check_and_resume()
            time.sleep(0.01)
        assert counts[-1] > counts[0] > 0


def test_nobody_searches_for_processes_while_the_machine_has_no_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with running(SPINS) as processes:
        processes.stop()
        monkeypatch.setattr(tree, "_newest_task", lambda: processes._newest)
        monkeypatch.delattr(os, "listdir")
        processes.check_rest()
        assert len(processes._clocks()) == 2


def test_a_process_is_found_although_ids_have_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "_newest_task", lambda: 1234)
    with running(BREEDS) as processes:
        for _ in range(5):
            processes.stop()
            assert set(processes._pids()) >= set(session_of(processes._leader))
            processes.check_and_resume()
            time.sleep(2 * tree.WRAP_S)


def test_a_file_system_that_shows_a_load_of_its_own_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tree._newest_task() > 0
    monkeypatch.setattr(tree, "_has_own_loadavg", lambda: False)
    assert tree._newest_task() == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("late_s", "times", "refused"), [(0.01, 1, False), (0.01, 2, True), (0.06, 1, True), (0.0005, 9, False)]
)
def test_processor_time_that_is_charged_late_must_be_rare_and_little(late_s: float, times: int, refused: bool) -> None:
    with running(SLEEPS) as processes:
        clocks = processes._clocks
        with pytest.raises(Fault, match="stood still") if refused else nullcontext():
            for _ in range(times):
                processes.stop()
                charged = {pid: cpu_s + late_s for pid, cpu_s in clocks().items()}
                processes._clocks = lambda charged=charged: charged  # type: ignore[method-assign]
                processes.check_and_resume()
                processes._clocks = clocks  # type: ignore[method-assign]


def test_a_process_that_ends_while_all_are_stopped_does_no_harm() -> None:
    with running(SPINS) as processes:
        processes.stop()
        [child] = set(processes._pids()) - {processes._leader}
        os.kill(child, signal.SIGKILL)
        time.sleep(0.1)
        processes.check_and_resume()

        assert not tree._has_stopped(processes._leader)


@pytest.mark.parametrize("script", MANY.values(), ids=MANY)
def test_too_many_processes_or_threads_are_refused(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(script) as processes:
        processes.check_limits()
        monkeypatch.setattr(tree, "MOST_TASKS", 25)
        with pytest.raises(Fault, match="at most 25") as caught:
            processes.check_limits()

    assert caught.value.outcome == "forbidden"


@pytest.mark.parametrize("what", ["memory", "disk", "files"])
def test_filling_the_machine_is_refused(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(SLEEPS) as processes:
        free = tree._free(Path("/tmp"))
        monkeypatch.setattr(tree, "_free", lambda folder: free)
        processes.check_limits()
        free = {**free, what: free[what] // 10}
        with pytest.raises(Fault, match=what) as caught:
            processes.check_limits()

    assert caught.value.outcome == "forbidden"

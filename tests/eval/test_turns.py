"""Of the judges that share a GPU, one at a time has it alone, to time a candidate; what starts elsewhere pauses."""

import fcntl
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from multiprocessing.synchronize import Barrier, Event, Lock
from pathlib import Path

import pytest

from eval.languages.registry import TORCH
from eval.machine import sandbox_level
from eval.pool import turns
from eval.pool.starts import STARTS
from eval.supervisor.settings import WorkerSettings
from eval.supervisor.tree import _stat
from eval.supervisor.warm_pool import WarmPool
from tests.eval.judging import FORKING, is_alive, needs_linux

pytestmark = needs_linux
JUDGES, TURNS_EACH = 3, 5
ROUNDS, CHECK_S = 2, 0.2
COMPILE_S, CALL_S, TURN_S, BETWEEN_S = 1.0, 2.5, 1.5, 0.5
"""Two turns and the compilation take longer than the worker may take for an answer."""
COMPILES = f"""
import subprocess, sys
STEPS = '''
import os, time
with open("RECORD", "a") as record:
    for _ in range({COMPILE_S * 50:.0f}):
        print(os.getpid(), time.monotonic(), file=record, flush=True)
        time.sleep(0.02)
'''

def warm():
    compiler = subprocess.Popen([sys.executable, "-c", STEPS])
    exec(STEPS)
    compiler.wait()
"""


def judge(lock: Path, all_joined: Barrier, alone: Lock, found: "multiprocessing.Queue[bool]") -> None:
    """Take turns, and say for each whether nobody else had one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(turns.TURNS, str(lock))
        turns.join()
        all_joined.wait()
        for _ in range(TURNS_EACH):
            with turns.turn():
                found.put(alone.acquire(block=False))
                time.sleep(0.002)
                alone.release()


@pytest.mark.slow
def test_turns_do_not_overlap_and_none_is_lost_when_all_judges_wait_for_one(tmp_path: Path) -> None:
    found: multiprocessing.Queue[bool] = FORKING.Queue()
    given = (tmp_path / "turns", FORKING.Barrier(JUDGES), FORKING.Lock(), found)
    judges = [FORKING.Process(target=judge, args=given) for _ in range(JUDGES)]
    for each in judges:
        each.start()
    for each in judges:
        each.join(30)

    assert [each.exitcode for each in judges] == [0] * JUDGES
    assert [found.get() for _ in range(JUDGES * TURNS_EACH)] == [True] * JUDGES * TURNS_EACH


def check_and_time(lock: Path, number: int, all_joined: Barrier, timed: "multiprocessing.Queue[int]") -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(turns.TURNS, str(lock))
        turns.join()
        all_joined.wait()
        for _ in range(ROUNDS):
            time.sleep(CHECK_S)
            with turns.turn():
                timed.put(number)
                time.sleep(CHECK_S)


@pytest.mark.slow
def test_who_has_had_a_turn_checks_its_next_candidate_when_all_others_have_had_theirs(tmp_path: Path) -> None:
    timed: multiprocessing.Queue[int] = FORKING.Queue()
    barrier = FORKING.Barrier(JUDGES)
    judges = [
        FORKING.Process(target=check_and_time, args=(tmp_path / "turns", number, barrier, timed))
        for number in range(JUDGES)
    ]
    for each in judges:
        each.start()
    for each in judges:
        each.join(60)

    order = [timed.get() for _ in range(JUDGES * ROUNDS)]
    assert all(sorted(order[at : at + JUDGES]) == [*range(JUDGES)] for at in range(0, len(order), JUDGES))


def fails_at_once(_: float | None) -> bool:
    time.sleep(CHECK_S)  # so that another judge has what is released before
    return True


def judge_whose_start_fails(lock: Path, all_joined: Barrier) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(turns.TURNS, str(lock))
        turns.join()
        all_joined.wait()
        with turns.turn():
            turns.interrupt_for(fails_at_once)


def test_a_start_that_fails_at_once_in_a_turn_locks_nobody(tmp_path: Path) -> None:
    barrier = FORKING.Barrier(JUDGES + 1)
    judges = [
        FORKING.Process(target=judge_whose_start_fails, args=(tmp_path / "turns", barrier)) for _ in range(JUDGES)
    ]
    for each in judges:
        each.start()
    barrier.wait(60)
    deadline = time.monotonic() + 15
    for each in judges:
        each.join(max(0.0, deadline - time.monotonic()))
    exits = [each.exitcode for each in judges]
    for each in judges:
        each.kill()

    assert exits == [0] * JUDGES


def judge_that_is_ended(lock: Path, began: Event, turn_s: float) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(turns.TURNS, str(lock))
        with turns.turn():
            began.set()
            time.sleep(turn_s)


@pytest.mark.parametrize("turn_s", [60.0, 0.0], ids=["in its turn", "after its turn"])
def test_a_judge_that_is_ended_while_others_wait_for_their_turns_ends_at_once(tmp_path: Path, turn_s: float) -> None:
    began = FORKING.Event()
    with (tmp_path / "turns-wishes").open("a") as wish:
        fcntl.flock(wish, fcntl.LOCK_SH)  # another judge, which waits for its turn
        ended = FORKING.Process(target=judge_that_is_ended, args=(tmp_path / "turns", began, turn_s))
        ended.start()
        assert began.wait(30)
        time.sleep(CHECK_S)
        ended.terminate()
        ended.join(5)
        exit_code = ended.exitcode
        ended.kill()

    assert exit_code == 0


def test_a_judge_with_a_gpu_of_its_own_waits_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(turns.TURNS, raising=False)
    turns.join.cache_clear()

    with turns.turn():
        assert turns.join() is None


def settings(adapter: Path) -> WorkerSettings:
    """Of a worker that starts by what an adapter does, which may write beside it."""
    language = TORCH.model_copy(update={"adapter": adapter, "preload": ()})
    return WorkerSettings(
        language=language,
        level=sandbox_level(),
        call_s=CALL_S,
        readable=(str(adapter),),
        writable=(str(adapter.parent),),
    )


def judge_that_compiles(folder: Path, *, in_turn: bool) -> None:
    """Wait for a worker to start, before or in a turn; fail if it fails."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(turns.TURNS, str(folder / "turns"))
        patch.setattr(turns, "BETWEEN_S", BETWEEN_S)
        turns.join()
        pool = WarmPool()
        with turns.turn() if in_turn else nullcontext():
            pool.start([settings(folder / "compiles.py")])
            (turns.interrupt_for if in_turn else turns.wait_for)(pool.wait)
        assert not pool._workers[0][1].has_failed()
        pool.close()


@pytest.fixture(params=[False, True], ids=["before a turn", "in a turn"])
def compiling(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[multiprocessing.process.BaseProcess]:
    """A judge whose worker compiles; this process is another judge of the same GPU."""
    (tmp_path / "compiles.py").write_text(COMPILES.replace("RECORD", f"{tmp_path}/record"))
    monkeypatch.setenv(turns.TURNS, str(tmp_path / "turns"))
    turns.join.cache_clear()
    process = FORKING.Process(target=judge_that_compiles, args=(tmp_path,), kwargs={"in_turn": request.param})
    process.start()
    while len({pid for pid, _ in steps(tmp_path)}) < 2:
        assert process.is_alive()
        time.sleep(0.02)
    locks = turns.join()
    yield process
    turns.join.cache_clear()
    for lock in locks or ():
        lock.close()


def steps(folder: Path) -> list[tuple[int, float]]:
    """The process of each step of a compilation, and when it was."""
    record = folder / "record"
    lines = record.read_text().splitlines() if record.exists() else []
    return [(int(pid), float(when)) for pid, when in map(str.split, lines)]


def test_what_compiles_for_another_judge_stands_still_in_a_turn_goes_on_after_it_and_is_not_too_late(
    tmp_path: Path, compiling: multiprocessing.process.BaseProcess
) -> None:
    times = [time.monotonic()]
    for _ in range(2):
        with turns.turn():
            times.append(time.monotonic())
            time.sleep(TURN_S)
            times.append(time.monotonic())
        time.sleep(0.1)
    wanted, first, between, second, last = times
    for lock in turns.join() or ():
        lock.close()  # as if this judge had ended
    compiling.join(20)

    assert compiling.exitcode == 0
    assert first - wanted < 1
    assert second - between > BETWEEN_S
    assert last - first > CALL_S
    ends = [sum(when > start for _, when in steps(tmp_path)) for start in times]
    assert ends[1] == ends[2] > ends[3] == ends[4] > 0


def test_a_judge_that_is_killed_in_a_pause_leaves_neither_a_process_nor_its_locks(
    tmp_path: Path, compiling: multiprocessing.process.BaseProcess
) -> None:
    with turns.turn():
        stopped = {pid for pid, _ in steps(tmp_path)}
        deadline = time.monotonic() + 5  # a process that runs on another core stops a moment later
        while [_stat(f"/proc/{pid}/stat").state for pid in stopped] != ["T", "T"]:
            assert time.monotonic() < deadline
        assert compiling.pid
        os.kill(compiling.pid, signal.SIGKILL)
        compiling.join()
        assert not any(map(is_alive, stopped))

    start = time.monotonic()
    with turns.turn():
        assert time.monotonic() - start < 1


def test_in_a_pause_nothing_new_starts_and_what_has_started_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "quick.py").write_text("def warm():\n    pass\n")
    pool = WarmPool()
    pool.start([settings(tmp_path / "quick.py")])
    pool.wait()
    ready = pool._workers[0][1].result()

    with STARTS.paused():
        pool.start([settings(tmp_path / "quick.py")] * 2)
        assert not pool.wait(0.5)
    assert pool.wait()

    assert _stat(f"/proc/{ready.pid}/stat").state == "T"
    assert ready.ask("ping") == {}
    pool.close()

"""Of the judges that share a GPU, one at a time has it alone, to time a candidate."""

import multiprocessing
import time
from multiprocessing.synchronize import Barrier, Lock
from pathlib import Path

import pytest

from eval.clock import turns
from tests.eval.judging import needs_linux

pytestmark = needs_linux
JUDGES, TURNS_EACH = 3, 5


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


def test_turns_do_not_overlap_and_none_is_lost_when_all_judges_wait_for_one(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    found: multiprocessing.Queue[bool] = context.Queue()
    given = (tmp_path / "turns", context.Barrier(JUDGES), context.Lock(), found)
    judges = [context.Process(target=judge, args=given) for _ in range(JUDGES)]
    for each in judges:
        each.start()
    for each in judges:
        each.join(30)

    assert [each.exitcode for each in judges] == [0] * JUDGES
    assert [found.get() for _ in range(JUDGES * TURNS_EACH)] == [True] * JUDGES * TURNS_EACH


def test_a_judge_with_a_gpu_of_its_own_waits_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(turns.TURNS, raising=False)
    turns.join.cache_clear()

    with turns.turn():
        assert turns.join() is None

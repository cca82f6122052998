"""Judges that share a GPU take turns: one times a candidate while the others wait, and they compile side by side."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from io import FileIO
from typing import NamedTuple

from eval.supervisor.starts import STARTS

TURNS = "KB_GPU_TURNS"
"""The variable with the file that judges of one GPU lock; without it a judge has the GPU for itself."""
POLL_S = 0.05
"""A judge that waits for its workers to start looks this often whether another has its turn."""
BETWEEN_S = 3.0
"""After a turn it lets them go on for at least so long, which is about as long as a turn."""


class Locks(NamedTuple):
    """All judges hold `use` together, but those that wait for their turns none, and those that wait for workers which
    start `starts`. The turn of one begins when it has both alone: first `use`, and that makes the last ones pause.
    """

    use: FileIO
    starts: FileIO


@cache
def join() -> Locks | None:
    """Take part, before the GPU is used; None if no other judge uses it. Waits while another has its turn."""
    if path := os.environ.get(TURNS):
        locks = Locks(FileIO(path, "a"), FileIO(f"{path}-starts", "a"))
        fcntl.flock(locks.use, fcntl.LOCK_SH)
        return locks
    return None


@contextmanager
def turn() -> Iterator[None]:
    """Have the GPU alone in a `with` block, for which nothing of this judge may be starting in the background.

    It begins when each of the others waits for its turn or for its workers to start, or has ended.
    """
    locks = join()
    if locks is None:
        yield
        return
    fcntl.flock(locks.use, fcntl.LOCK_EX)
    fcntl.flock(locks.starts, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(locks.starts, fcntl.LOCK_UN)
        fcntl.flock(locks.use, fcntl.LOCK_SH)


def wait_for(started: Callable[[float | None], bool]) -> None:
    """Wait for workers that start in other threads. These pause while other judges have their turns.

    Args:
        started: Waits for so many seconds at most; returns whether all have started or failed.
    """
    locks, pauses_at = join(), 0.0
    done = locks is None and started(None)
    while locks and not done:
        fcntl.flock(locks.starts, fcntl.LOCK_SH)
        fcntl.flock(locks.use, fcntl.LOCK_UN)
        while not (done := started(POLL_S)):
            if time.monotonic() > pauses_at and _is_taken(locks.use):
                break
        with STARTS.paused():
            fcntl.flock(locks.starts, fcntl.LOCK_UN)
            fcntl.flock(locks.use, fcntl.LOCK_SH)
        pauses_at = time.monotonic() + BETWEEN_S


def _is_taken(lock: FileIO) -> bool:
    """Whether another judge has it alone."""
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(lock, fcntl.LOCK_UN)
    return False

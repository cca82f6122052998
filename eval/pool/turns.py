"""Judges that share a GPU take turns: one times a candidate while the others wait, and they compile side by side.

All hold the first of two locks together. One that waits for its workers to start holds the second instead, and pauses
them to release it when another has the first one alone. A turn begins when a judge has both alone. Those that want one
hold a third lock: who has had a turn goes on when nobody wants one, as others could have none beside its next check.
"""

import fcntl
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from io import FileIO

from eval.pool.starts import STARTS

TURNS = "KB_GPU_TURNS"
"""The variable with the file that judges of one GPU lock; without it a judge has the GPU for itself."""
POLL_S = 0.05
"""A judge that waits for its workers looks this often whether another has its turn."""
BETWEEN_S = 3.0
"""For so long after a turn, which takes about as long, they are not paused for the next one."""


@cache
def join() -> tuple[FileIO, FileIO, FileIO] | None:
    """The locks of this judge, which takes part from now on and before it uses the GPU; None if it has that alone."""
    if path := os.environ.get(TURNS):
        use, starts, wishes = (FileIO(f"{path}{name}", "a") for name in ("", "-starts", "-wishes"))
        fcntl.flock(use, fcntl.LOCK_SH)
        return use, starts, wishes
    return None


@contextmanager
def turn() -> Iterator[None]:
    """Have the GPU alone in a `with` block, for which nothing of this judge may be starting in the background."""
    _begin()
    try:
        yield
    finally:
        if not isinstance(sys.exception(), SystemExit):  # a signal ends this process, and the locks with it
            _let_others()


def wait_for(started: Callable[[float | None], bool]) -> None:
    """Wait for workers that start in other threads, which pause while other judges have their turns.

    Args:
        started: Waits for so many seconds at most; returns whether all have started or failed.
    """
    locks = join()
    if started(None if locks is None else 0.0) or locks is None:
        return
    use, starts, _ = locks
    done, pauses_at = False, 0.0
    while not done:
        fcntl.flock(starts, fcntl.LOCK_SH)
        fcntl.flock(use, fcntl.LOCK_UN)
        while not (done := started(POLL_S)) and (time.monotonic() < pauses_at or not _is_taken(use)):
            pass
        with STARTS.paused():
            fcntl.flock(starts, fcntl.LOCK_UN)
            fcntl.flock(use, fcntl.LOCK_SH)
        pauses_at = time.monotonic() + BETWEEN_S


def interrupt_for(started: Callable[[float | None], bool]) -> None:
    """As `wait_for`, in a turn: others may have theirs before it goes on."""
    if locks := join():
        use, starts, wishes = locks
        fcntl.flock(starts, fcntl.LOCK_UN)
        fcntl.flock(use, fcntl.LOCK_SH)  # who waits for an end of wishes waits for this one too
        fcntl.flock(wishes, fcntl.LOCK_UN)
    wait_for(started)
    _begin()


def _begin() -> None:
    """Hold the first two locks alone, with a wish for that."""
    if locks := join():
        use, starts, wishes = locks
        fcntl.flock(wishes, fcntl.LOCK_SH)
        fcntl.flock(use, fcntl.LOCK_EX)
        fcntl.flock(starts, fcntl.LOCK_EX)


def _let_others() -> None:
    """Let all have their turns who wait for one, at the end of a turn."""
    if locks := join():
        for lock in locks:
            fcntl.flock(lock, fcntl.LOCK_UN)
        use, _, wishes = locks
        fcntl.flock(wishes, fcntl.LOCK_EX)
        fcntl.flock(use, fcntl.LOCK_SH)
        fcntl.flock(wishes, fcntl.LOCK_UN)


def _is_taken(lock: FileIO) -> bool:
    """Whether another judge has it alone."""
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(lock, fcntl.LOCK_UN)
    return False

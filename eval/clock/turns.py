"""Judges that share a GPU take turns: one times a candidate while the others wait, and they compile side by side."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import FileIO

TURNS = "KB_GPU_TURNS"
"""The variable with the file that judges of one GPU lock; without it a judge has the GPU for itself."""


@cache
def join() -> FileIO | None:
    """Take part, before the GPU is used; None if no other judge uses it. Waits while another has its turn."""
    if path := os.environ.get(TURNS):
        lock = FileIO(path, "a")
        fcntl.flock(lock, fcntl.LOCK_SH)
        return lock
    return None


@contextmanager
def turn() -> Iterator[None]:
    """Have the GPU alone in a `with` block, for which nothing of this judge may be starting in the background.

    All judges hold the lock together, and one gets it alone when each of the others waits for that, too, or has ended.
    """
    lock = join()
    if lock is None:
        yield
        return
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(lock, fcntl.LOCK_SH)

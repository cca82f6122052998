"""The threads of the judge that start workers can be paused together, with these workers."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition


class Starts:
    """Each of the threads pauses where it waits for a process. What it does beside that disturbs others, too."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._running, self._is_paused = 0, False

    def run(self, start: Callable[[], object]) -> None:
        """Let the calling thread start a worker, once nobody wants a pause."""
        self._count(1)
        try:
            start()
        finally:
            self._count(-1)

    def pause_point(self, session: int = 0) -> float:
        """Let the calling thread pause here while somebody wants that.

        Args:
            session: All its processes are stopped meanwhile. One that waits for a child to become another program never
                looks stopped, but stands still, because the child does.

        Returns:
            The seconds that this took. They count against no time limit.
        """
        if not self._is_paused:
            return 0.0
        start = time.monotonic()
        if session:
            os.killpg(session, signal.SIGSTOP)
        self._count(-1)
        self._count(1)
        if session:
            os.killpg(session, signal.SIGCONT)
        return time.monotonic() - start

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Keep all paused in a `with` block, which begins when the last one pauses or has started its worker."""
        try:
            with self._changed:
                self._is_paused = True
                self._changed.wait_for(lambda: not self._running)
            yield
        finally:
            with self._changed:
                self._is_paused = False
                self._changed.notify_all()

    def _count(self, change: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: change < 0 or not self._is_paused)
            self._running += change
            self._changed.notify_all()


STARTS = Starts()

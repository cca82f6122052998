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
        self._begin()
        try:
            start()
        finally:
            self._end()

    def pause_point(self, session: int | None = None) -> float:
        """Let the calling thread pause here while somebody wants that.

        Args:
            session: It is stopped meanwhile. All its processes get the signal at once, so that none runs on. One that
                waits for a new child, which is stopped before it has become another program, never looks stopped.

        Returns:
            The seconds that this took. They count against no time limit.
        """
        if not self._is_paused:
            return 0.0
        start = time.monotonic()
        if session:
            os.killpg(session, signal.SIGSTOP)
        self._end()
        self._begin()
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

    def _begin(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._is_paused)
            self._running += 1

    def _end(self) -> None:
        with self._changed:
            self._running -= 1
            self._changed.notify_all()


STARTS = Starts()
"""Those of this process."""

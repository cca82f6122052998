"""Start processes in other threads, so that nobody waits for them, and end them at any time."""

from collections.abc import Callable
from concurrent.futures import Executor, wait
from typing import Generic, Protocol, TypeVar

INTERRUPT_S = 0.05


class Process(Protocol):
    """What starts."""

    def interrupt(self) -> None:
        """Let its start in another thread fail."""

    def __exit__(self, *_: object) -> None:
        """End it."""


P = TypeVar("P", bound=Process)


class PendingProcess(Generic[P]):
    """A process that starts in a thread of `pool` by `start`, which cleans up if it fails."""

    def __init__(self, pool: Executor, process: P, start: Callable[[], object]) -> None:
        self._process, self._started = process, pool.submit(start)

    def result(self) -> P:
        """The process, once it has started. Raises what its start raised."""
        self._started.result()
        return self._process

    def wait(self) -> None:
        """Wait until it has started or failed."""
        wait([self._started])

    def has_failed(self) -> bool:
        """Whether its start has failed, once that is known."""
        return self._started.exception() is not None

    def end(self) -> None:
        """End the process, also if it still starts."""
        self._started.cancel()
        while not self._started.done():
            self._process.interrupt()
            wait([self._started], timeout=INTERRUPT_S)
        if self._started.cancelled() or self._started.exception() is None:
            self._process.__exit__()

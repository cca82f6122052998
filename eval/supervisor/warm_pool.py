"""Workers that start in other threads, and load what candidates need before they have one, so that nobody waits."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from eval.pool.starts import STARTS
from eval.supervisor.process import WorkerProcess
from eval.supervisor.settings import WorkerSettings
from eval.worker.fault import Fault
from kb.errors import JudgeError

AT_ONCE = 6
"""This many workers may start at the same time: the judge of a GPU wants six for a candidate."""
INTERRUPT_S = 0.05


class Startable(Protocol):
    """A process, or what owns one."""

    def interrupt(self) -> None:
        """Let its start in another thread fail."""

    def __exit__(self, *_: object) -> None:
        """End it."""


P = TypeVar("P", bound=Startable)


class PendingProcess(Generic[P]):
    """A process that starts in a thread of `pool` by `start`, which cleans up if it fails."""

    def __init__(self, pool: Executor, process: P, start: Callable[[], object]) -> None:
        self._process, self._started = process, pool.submit(STARTS.run, start)

    def result(self) -> P:
        """The process, once it has started. Raises what its start raised."""
        self._started.result()
        return self._process

    def wait(self, within_s: float | None = None) -> bool:
        """Wait until it has started or failed; return whether it has."""
        return bool(wait([self._started], within_s).done)

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


class WarmPool:
    """Workers without a candidate. They start in the background; close them at the end."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self._workers: list[tuple[WorkerSettings, PendingProcess[WorkerProcess]]] = []
        """Those that the last candidate wanted first, in its order."""

    def take(self, settings: WorkerSettings) -> WorkerProcess:
        """A worker with these settings: a warm one if it has started and still lives, otherwise a new one."""
        for warm in [warm for warm in self._workers if warm[0] == settings]:
            self._workers.remove(warm)
            with suppress(Fault, JudgeError):
                worker = warm[1].result()
                if worker.is_alive:
                    return worker
                worker.kill()
        return WorkerProcess(settings)

    def start(self, wanted: Sequence[WorkerSettings]) -> None:
        """Have a worker for each of these settings: keep those that are there, and start those that are missing.

        Of the others the last ones stay, because candidates may alternate between two languages. On a full disk there
        are fewer.
        """
        others, self._workers = self._workers, []
        for settings in wanted:
            known = next((warm for warm in others if warm[0] == settings), None)
            if known:
                others.remove(known)
            with suppress(OSError):
                self._workers.append(known or (settings, self._started(settings)))
        self._workers += others[: len(wanted)]
        for _, pending in others[len(wanted) :]:
            pending.end()

    def wait(self, within_s: float | None = None) -> bool:
        """Wait until all have started, because that would disturb what is timed; False if it takes longer."""
        return all(pending.wait(within_s) for _, pending in self._workers)

    def close(self) -> None:
        """End all."""
        for _, pending in self._workers:
            pending.end()
        self._pool.shutdown()

    def _started(self, settings: WorkerSettings) -> PendingProcess[WorkerProcess]:
        worker = WorkerProcess(settings)
        return PendingProcess(self._pool, worker, worker.start_warm)

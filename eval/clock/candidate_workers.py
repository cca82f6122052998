"""The workers in which a candidate is timed."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Self

from eval.clock.baselines import Baselines
from eval.clock.timed_worker import TimedWorker
from eval.supervisor.trial import Trial
from eval.supervisor.warm_pool import PendingProcess
from kb.types.timing import WIN_SESSIONS

AUTOTUNE = "autotune"
"""A source with this word may choose by times at its first call, and has the GPU alone for it."""


class CandidateWorkers:
    """Gives each session of a candidate a fresh worker. Use it as a context manager, which ends all of them.

    Those for the sessions whose baselines run already start together, and end together: both takes long, and nothing
    may be timed meanwhile.
    """

    def __init__(self, trial: Trial, baselines: Baselines) -> None:
        self.trial, self._baselines = trial, baselines
        self._pool = ThreadPoolExecutor(WIN_SESSIONS)
        self._ahead: list[PendingProcess[TimedWorker]] = []
        self._served: list[PendingProcess[TimedWorker]] = []

    @contextmanager
    def for_session(self, number: int) -> Iterator[TimedWorker]:
        """A worker for a session, counted from 0, whose baselines run. Raises Fault if it does not start."""
        if not self._ahead:
            self.finish()
            of, chooses = self._baselines, number == 0 and AUTOTUNE in self.trial.candidate.source
            for _ in range(1 if chooses else of.sets_from(number)):
                worker = TimedWorker(self.trial, of.reference, of.case, of.memory)
                self._ahead.append(PendingProcess(self._pool, worker, worker.__enter__))
        for pending in self._ahead:
            pending.wait()
        if self.trial.warm_pool:
            self.trial.warm_pool.wait()
        worker = (pending := self._ahead.pop(0)).result()
        self._served.append(pending)
        yield worker
        if not self._ahead:
            self.finish()

    def finish(self) -> None:
        """End those that have served a session. Raises Fault if one does not end as it should."""
        served, self._served = self._served, []
        try:
            list(self._pool.map(lambda pending: pending.result().worker.finish(), served))
        finally:
            for pending in served:
                pending.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pending in (*self._ahead, *self._served):
            pending.end()
        self._pool.shutdown()

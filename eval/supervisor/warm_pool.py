"""Workers that start, and load what candidates need, before they have one, so that none waits for that."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from eval.fault import Fault
from eval.supervisor.pending_process import PendingProcess
from eval.supervisor.process import WorkerProcess
from kb.errors import JudgeError

AT_ONCE = 6
"""This many workers may start at the same time: the judge of a GPU wants six for a candidate."""

Settings = Mapping[str, Any]
"""The arguments of a WorkerProcess."""
Spare = tuple[Settings, PendingProcess[WorkerProcess]]


class WarmPool:
    """Workers without a candidate. They start in the background; close them at the end."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self._wanted: list[Spare] = []
        self._others: list[Spare] = []
        """Those that only the candidate before the last one wanted: candidates may alternate between two languages."""

    def take(self, settings: Settings) -> WorkerProcess:
        """A worker with these settings: a spare if one has started and still lives, otherwise a new one."""
        for spare in [spare for spare in self._wanted if spare[0] == settings]:
            self._wanted.remove(spare)
            with suppress(Fault, JudgeError):
                worker = spare[1].result()
                if worker.lives:
                    return worker
                worker.kill()
        return WorkerProcess(**settings)

    def start(self, wanted: Sequence[Settings]) -> None:
        """Have a spare for each of these settings: keep those that are there, and start those that are missing.

        Others stay until the next candidate does not want them either. On a full disk there are fewer.
        """
        there, others, self._wanted = self._wanted, self._others, []
        for settings in wanted:
            known = next((spare for spare in (*there, *others) if spare[0] == settings), None)
            if known:
                (there if known in there else others).remove(known)
            with suppress(OSError):
                self._wanted.append(known or (settings, self._started(WorkerProcess(**settings))))
        self._others = there
        _end(others)

    def wait(self) -> None:
        """Wait until all have started, because that would disturb what is timed."""
        for _, spare in (*self._wanted, *self._others):
            spare.wait()

    def close(self) -> None:
        """End all."""
        _end([*self._wanted, *self._others])
        self._pool.shutdown()

    def _started(self, worker: WorkerProcess) -> PendingProcess[WorkerProcess]:
        return PendingProcess(self._pool, worker, worker.warm)


def _end(spares: Sequence[Spare]) -> None:
    for _, spare in spares:
        spare.end()

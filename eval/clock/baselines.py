"""The baselines of a task: its reference, run eagerly and compiled, each timed in a worker like a candidate."""

import atexit
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

import torch

from eval.clock.baseline_sources import COMPILED, GUARDS, IN_TF32, SOURCES, compiles
from eval.clock.canaries import Canaries
from eval.clock.timed_worker import IdleWorker, TimedWorker, common_memory
from eval.clock.timing import median_us
from eval.languages.registry import TORCH
from eval.oracle.cases import draw_cases, given_case, new_seed, usable_distributions
from eval.oracle.reference import Reference
from eval.oracle.sizes import smaller_sizes
from eval.oracle.values import learn_structures
from eval.pool.turns import interrupt_for
from eval.supervisor.settings import Spent
from eval.supervisor.trial import Trial
from eval.supervisor.warm_pool import PendingProcess
from eval.worker.fault import Fault
from eval.worker.gpu_driver import DriverError
from kb.errors import JudgeError
from kb.types.evidence import Outcome
from kb.types.kernels import Candidate, Task
from kb.types.timing import WIN_SESSIONS

DISTURBED = (Outcome.CRASHED, Outcome.FORBIDDEN)
"""A baseline can fail in these ways because a candidate, checked at the same time, uses up the memory or the disk."""
WORKER_FAILURES = (Fault, torch.OutOfMemoryError, DriverError)
"""How a worker of the judge can fail; the last two if a GPU has too little memory."""
TRIES = 7
SMALL = 1 << 16
"""About so many elements all tensors of a task have at small sizes."""
CLOSE = 1.25
"""Baselines within this factor of the fastest stay in the race, because a few quick calls are not exact."""

T = TypeVar("T")
WorkerSet = dict[str, PendingProcess[TimedWorker]]
"""A worker for each baseline in the race, by its name."""


class Baselines:
    """The baselines of a task, which run once they are asked for; close them at the end.

    Processes of the same program differ in speed by luck. So each session of a candidate has a set of workers of its
    own. The last sets stay for the next candidates.

    Args:
        sources: What makes a candidate of the reference, by the name of the baseline; the first must run.
        trial_of: Gives the settings for running one; see eval.clock.baseline_sources.
        at_once: How many of the first set may start at the same time. Later sets find what it has compiled.
        room: How many sets of so many baselines may run at the same time. Sessions take them in turn.
        one_by_one: Whether the memory has room for no more than two baselines: then each starts when the one before is
            timed, and only the fastest stays.
        on_host: Whether the expected outputs are kept in the host's memory.
        spent: The time for which candidates wait for them is added here.

    Attributes:
        memory: Handle of the memory of all timed workers on a CPU; see `common_memory`.
        case: One set of inputs at the task's sizes, with the expected outputs and the reference's own error.
        medians_us: For each baseline, a quick median of the time of one call; empty before `workers` is used.
        notes: Reasons why a baseline is missing.
    """

    def __init__(
        self,
        task: Task,
        reference: Reference,
        sources: Mapping[str, str],
        trial_of: Callable[[Candidate], Trial],
        *,
        at_once: int = len(SOURCES),
        room: Callable[[int], int] = lambda _: 1,
        one_by_one: bool = False,
        on_host: bool = False,
        spent: Spent | None = None,
    ) -> None:
        case = given_case("sizes as given", reference)
        self.reference, self.case = reference, case.on_host() if on_host else case
        self._task, self._trial_of = task, trial_of
        self.notes: list[str] = []
        self.medians_us: dict[str, float] = {}
        self._room, self._one_by_one, self._spent = room, one_by_one, spent or Spent()
        self._idle_workers: dict[str, IdleWorker] = {}
        self._trials = {
            name: trial_of(Candidate(language=TORCH.name, source=f"{task.source}\nimport torch\n{source}"))
            for name, source in sources.items()
            if compiles() or "torch.compile" not in source
        }
        first = next(iter(self._trials.values()))
        self.memory = common_memory(first, reference, self.case) if reference.device == "cpu" else None
        self._first_pool = ThreadPoolExecutor(at_once)
        self._later_pool = ThreadPoolExecutor(WIN_SESSIONS * len(self._trials))
        self._kept_sets: dict[int, WorkerSet] = {}
        atexit.register(self.close)

    def start(self) -> None:
        """Let the first set start in the background."""
        if not self._kept_sets:
            self._kept_sets[0] = self._started(list(self._trials)[: 1 if self._one_by_one else None], self._first_pool)
            self._canaries = self._started_canaries()
            self._wrong_in_tf32  # noqa: B018 - is found while they start

    def wait(self, within_s: float | None = None) -> bool:
        """Wait, but no longer than so, until all have started, which would disturb what is timed; whether they have."""
        waits = [each.wait for found in self._kept_sets.values() for each in found.values()]
        waits += [self._canaries.wait] if "_canaries" in vars(self) else []
        return all(wait(within_s) for wait in waits)

    @cached_property
    def workers(self) -> dict[str, TimedWorker]:
        """The baselines that are about as fast as the fastest, by name. The judge tests itself before it times them.

        Raises:
            JudgeError: the eager reference cannot run in a worker, a canary fails, or the judge misjudges one.
        """
        self.start()
        self.medians_us, self.notes = {}, [self._wrong_in_tf32] if self._wrong_in_tf32 else []
        with self._spent.on("baselines_s"):
            self.wait()
        running = self._kept_sets[0]
        with as_judge_errors():
            self._check_canaries()
            for name in self._trials:
                try:
                    self.medians_us[name] = self._median_us(self._running(name))
                except WORKER_FAILURES as error:
                    if not self.medians_us:
                        raise
                    self.notes.append(f"no {name} baseline: {str(error)[:200]}")
                    running.pop(name).end()
                limit_us = (1.0 if self._one_by_one else CLOSE) * min(self.medians_us.values())
                for slow in [name for name in running if self.medians_us.get(name, 0) > limit_us]:
                    running.pop(slow).end()
        return {name: pending.result() for name, pending in running.items()}

    @property
    def kept(self) -> int:
        """How many sets stay for the next candidates."""
        return min(WIN_SESSIONS, self._room(len(self.workers)))

    @cached_property
    def _wrong_in_tf32(self) -> str:
        """Why the reference in TF32 is no baseline; empty if it may be one. Compiled ones would be wrong alike.

        Like a candidate it must be right at small sizes and with other values, too: fewer errors of TF32 cancel out.
        """
        in_tf32 = [name for name in self._trials if name.endswith(IN_TF32)]
        if not in_tf32:
            return ""
        tried = [(self.reference, self.case)]
        device = self.reference.device
        if sizes := smaller_sizes(self._task, elements=SMALL, odd=None, device=device):
            small = Reference(self._task, seed=new_seed(), sizes=sizes, device=device)
            structures = learn_structures(small)
            cases = draw_cases(small, structures, usable_distributions(small, structures), budget_s=0)
            tried += [(small, case) for case in cases]
        results = (case.compare(reference.native(case.inputs, all_in_tf32=True)) for reference, case in tried)
        wrong = next((result for result in results if result.outcome is not Outcome.PASSED), None)
        for name in in_tf32 if wrong else ():
            del self._trials[name]
            if name in self._kept_sets[0]:
                self._kept_sets[0].pop(name).end()
        return f"no baseline in TF32: {wrong.detail}" if wrong else ""

    def trial(self, name: str) -> Trial:
        """What runs a baseline as a candidate."""
        return replace(self._trials[name], spent=Spent())

    def begin(self, session: int) -> None:
        """Set `workers` for a session of a candidate, counted from 0: no two of them share processes, and so luck.

        Sessions take the sets that stay in turn; these start anew once the candidate has used all. With the second
        session the sets of all start together: who gets there will probably want the rest.
        """
        names, number = list(self.workers), session % self.kept
        if session and not number:
            _end_sets(self._kept_sets)
        if not self._is_reusable(number):
            self._restart([n for n in range(number, self.kept if session else 1) if not self._is_reusable(n)], names)
        if not self._is_reusable(number):  # there was no room for all of them at the same time
            _end_sets(self._kept_sets)
            self._restart([number], names)
        with as_judge_errors():
            self.workers = {name: self._kept_sets[number][name].result() for name in names}

    def sets_from(self, session: int) -> int:
        """How many sets run for this session and those behind it; 1 if a candidate beside each would have no room."""
        has_room = self._room(len(self.workers) + 1) >= self.kept
        return sum(number >= session % self.kept for number in self._kept_sets) if has_room else 1

    def each(self, ask: Callable[[TimedWorker], T]) -> dict[str, T]:
        """What each of `workers` answers, by name. Raises JudgeError if one fails."""
        with as_judge_errors():
            return {name: ask(worker) for name, worker in self.workers.items()}

    def idle_worker(self, trial: Trial) -> IdleWorker | None:
        """A running idle worker in the language of a trial; None if the language has no idle candidate."""
        language, found = trial.language, self._idle_workers.get(trial.language.name)
        source = language.idle(self._task.source)
        if source and not (found and found.worker.is_reusable):
            if found:
                found.__exit__()
            waits = Candidate(language=language.name, source=source)
            idle = replace(trial, candidate=waits, guards=GUARDS, spent=Spent())
            with as_judge_errors():
                started = IdleWorker(idle, self.reference, self.case, self.memory).__enter__()
                self._idle_workers[language.name] = started
        return self._idle_workers.get(language.name)

    def close(self) -> None:
        """End all workers."""
        _end_sets(self._kept_sets)
        if "_canaries" in vars(self):
            self._canaries.end()
        for worker in self._idle_workers.values():
            worker.__exit__()
        self._first_pool.shutdown()
        self._later_pool.shutdown()
        if self.memory is not None:
            os.close(self.memory)
        atexit.unregister(self.close)

    def _check_canaries(self) -> None:
        """As `Canaries.check`, in a worker that starts again now if it failed, or if it has served."""
        if self._canaries.has_failed() or not self._canaries.result().worker.is_alive:
            self._canaries = self._started_canaries()
        self._canaries.result().check()
        self._canaries.end()

    def _running(self, name: str) -> TimedWorker:
        """One of the first set. If it failed, or COMPILED had no time, it starts again: no candidate is checked now."""
        if name in self._kept_sets[0]:
            try:
                return self._kept_sets[0][name].result()
            except Exception as error:
                again = (*DISTURBED, Outcome.TIMED_OUT) if name == COMPILED else DISTURBED
                if isinstance(error, Fault) and error.outcome not in again:
                    raise
        self._kept_sets[0] |= self._started([name], self._first_pool)
        with self._spent.on("baselines_s"):
            interrupt_for(self._kept_sets[0][name].wait)
        return self._kept_sets[0][name].result()

    def _median_us(self, worker: TimedWorker) -> float:
        """Median time of a few calls. Raises Fault if the outputs are less accurate than a candidate's must be."""
        worker.capture(on=True)
        median = median_us([worker.time_call(self.case.inputs).time for _ in range(TRIES)])
        result = self.case.compare(worker.time_call(self.case.inputs).outputs)
        if result.outcome is not Outcome.PASSED:
            raise Fault(result.outcome, result.detail)
        return median

    def _is_reusable(self, number: int) -> bool:
        """Whether a kept set has started and lasts for another session."""
        found = self._kept_sets.get(number, {}).values()
        return bool(found) and all(not p.has_failed() and p.result().worker.is_reusable for p in found)

    def _restart(self, numbers: Sequence[int], names: Sequence[str]) -> None:
        """Start some of the sets together, and wait for all, because to start disturbs what is timed.

        Other judges may have their turns meanwhile.
        """
        for number in numbers:
            for pending in self._kept_sets.pop(number, {}).values():
                pending.end()
            self._kept_sets[number] = self._started(names, self._later_pool)
        with self._spent.on("baselines_s"):
            interrupt_for(self.wait)

    def _started(self, names: Iterable[str], pool: Executor) -> WorkerSet:
        workers = {name: TimedWorker(self._trials[name], self.reference, self.case, self.memory) for name in names}
        return {name: PendingProcess(pool, worker, worker.__enter__) for name, worker in workers.items()}

    def _started_canaries(self) -> PendingProcess[Canaries]:
        canaries = Canaries(self._trial_of, self.reference.device)
        return PendingProcess(self._first_pool, canaries, canaries.__enter__)


def _end_sets(sets: dict[int, WorkerSet]) -> None:
    while sets:
        for pending in sets.popitem()[1].values():
            pending.end()


@contextmanager
def as_judge_errors() -> Iterator[None]:
    """Turn what goes wrong with a worker that the judge starts for itself into a JudgeError: it is no candidate."""
    try:
        yield
    except WORKER_FAILURES as error:
        hint = "the task's reference must run on this machine, in the sandbox and within the time limit of a call"
        raise JudgeError(f"a worker of the judge itself fails: {error}", hint=hint) from error

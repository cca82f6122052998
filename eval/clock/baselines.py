"""The baselines of a task: its reference, run eagerly and compiled, each timed in a worker like a candidate."""

import atexit
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from statistics import median
from typing import Any

import torch

from eval.clock.baseline_settings import GUARDS, compiles
from eval.clock.canaries import Canaries
from eval.clock.timed_worker import Answer, Answers, TimedWorker, Yardstick, common_memory
from eval.fault import Fault
from eval.languages.registry import TORCH
from eval.oracle.cases import given_case
from eval.oracle.reference import Reference
from eval.supervisor.pending_process import PendingProcess
from eval.supervisor.trial import Trial
from eval.worker.gpu_driver import DriverError
from kb.errors import JudgeError
from kb.types.evidence import Outcome
from kb.types.kernels import Candidate, Task

EAGER, COMPILED = "eager", "torch.compile"
SOURCES: Mapping[str, str] = {
    EAGER: "ModelNew = Model",
    COMPILED: """
class ModelNew(Model):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.forward = torch.compile(super().forward, dynamic=False)
""",
}
"""What makes a candidate of a reference, by the name of the baseline."""
DISTURBED = (Outcome.TIMED_OUT, Outcome.CRASHED, Outcome.FORBIDDEN)
"""How a baseline can fail because a candidate that is checked beside it takes the cores, the memory or the disk."""
FAILURES = (Fault, torch.OutOfMemoryError, DriverError)
"""How a worker of the judge can fail; the last two if a GPU has too little memory."""
TRIES = 7
KEPT_BYTES = 32 << 20
CLOSE = 1.25
"""Baselines within this factor of the fastest stay in the race, because a few quick calls are not exact."""


class Baselines:
    """The running baselines of a task. They start in the background on construction; close them at the end.

    Args:
        sources: What makes a candidate of the reference, by the name of the baseline; the first must run.
        trial_of: Gives the settings for running one; see eval.clock.baseline_settings.
        at_once: How many of the first set may start at the same time. Later sets find what it has compiled.
        kept: How many sets of them stay for the next candidates. Sessions take them in turn.
        kept_bytes: Largest inputs of which several sets of workers may keep copies, and on a GPU all of the first set.

    Attributes:
        kept: How many sets may run at the same time.
        memory: Handle of the memory of all sides on a CPU; see `common_memory`.
        case: One set of inputs at the task's sizes, with the expected outputs and the reference's own error.
        medians_us: For each baseline, a quick median of the time of one call; empty before `sides` is used.
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
        kept: int = 1,
        kept_bytes: int = KEPT_BYTES,
    ) -> None:
        self.reference, self.case = reference, given_case("timed", reference)
        self.notes: list[str] = []
        self.medians_us: dict[str, float] = {}
        self._task, self._trial_of = task, trial_of
        self.kept = kept if self.case.input_bytes <= kept_bytes else 1
        self._yardsticks: dict[str, Yardstick] = {}
        self._trials = {
            name: trial_of(Candidate(language=TORCH.name, source=f"{task.source}\nimport torch\n{source}"))
            for name, source in sources.items()
            if compiles() or "torch.compile" not in source
        }
        first = next(iter(self._trials.values()))
        self.memory = common_memory(first, reference, self.case) if reference.device == "cpu" else None
        self._pool = ThreadPoolExecutor(at_once)
        self._pool_of_later = ThreadPoolExecutor(len(self._trials) * self.kept) if self.kept > 1 else self._pool
        roomy = self.memory is not None or self.case.input_bytes <= kept_bytes  # otherwise one after the other
        self._starting = {0: self._start(list(self._trials)[: None if roomy else 1], self._pool)}
        self._canaries = self._start_canaries()
        atexit.register(self.close)

    @cached_property
    def sides(self) -> dict[str, TimedWorker]:
        """The baselines that are about as fast as the fastest, by name. The judge tests itself before it times them.

        Raises:
            JudgeError: the eager reference cannot run in a worker, a canary fails, or the judge misjudges one.
        """
        self.medians_us, self.notes = {}, []
        running = self._starting[0]
        for starting in running.values():
            starting.wait()  # one that still compiles would disturb the calls of the others
        with own_worker():
            self._check_canaries()
        for name in self._trials:
            try:
                self.medians_us[name] = self._median_us(self._running(name))
            except FAILURES as error:
                if not self.medians_us:
                    raise _failed(error) from error
                self.notes.append(f"no {name} baseline: {str(error)[:200]}")
                running.pop(name).end()
            limit_us = CLOSE * min(self.medians_us.values())
            for slow in [name for name in running if self.medians_us.get(name, 0) > limit_us]:
                running.pop(slow).end()
        return {name: starting.result() for name, starting in running.items()}

    def begin(self, session: int, *, beside: bool = False) -> None:
        """Set `sides` for a session of a candidate, counted from 0: no two of them share processes, and so luck.

        Args:
            beside: `start_beside` has started those for this session.
        """
        names, place = list(self.sides), ~session if beside else session % self.kept
        if not beside:
            self._end_beside()
            if session >= self.kept:
                self._restart([place], names)
            elif not self._lasts(place):
                last = self.kept if session else 1  # whoever gets to the second session will probably want the rest
                self._restart([later for later in range(place, last) if not self._lasts(later)], names)
                if not self._lasts(place):  # there was no room for all of them at the same time
                    self._restart([place], names)
        with own_worker():
            self.sides = {name: self._starting[place][name].result() for name in names}

    def start_beside(self, sessions: Sequence[int]) -> None:
        """Start sets for some sessions, at most `kept`, of a candidate whose workers have started before.

        They might slow those that start now, so no later candidate is compared with these.

        Raises:
            JudgeError: one does not start.
        """
        self._end_beside()
        places = [~session for session in sessions]  # below 0
        self._restart(places, list(self.sides))
        with own_worker():
            for starting in (starting for place in places for starting in self._starting[place].values()):
                starting.result()

    def capture(self, *, on: bool) -> bool:
        """`TimedWorker.capture` of all `sides`; whether all of them replay. Raises JudgeError if one fails."""
        with own_worker():
            replay = [side.capture(on=on) for side in self.sides.values()]
        return all(replay)

    def timed(self, arguments: Sequence[Any]) -> dict[str, Answer]:
        """A timed call of each of `sides`, by name. Raises JudgeError if one fails."""
        with own_worker():
            return {name: side.timed(arguments) for name, side in self.sides.items()}

    def together(self, sets: Sequence[Sequence[Any]]) -> dict[str, Answers]:
        """`TimedWorker.together` of each of `sides`, by name. Raises JudgeError if one fails."""
        with own_worker():
            return {name: side.together(sets) for name, side in self.sides.items()}

    def yardstick(self, trial: Trial) -> Yardstick | None:
        """A running yardstick in the language of a trial; None if the language has none."""
        language, found = trial.language, self._yardsticks.get(trial.language.name)
        source = language.idle(self._task.source)
        if source and not (found and found.worker.lasts):
            if found:
                found.__exit__()
            idle = replace(trial, candidate=Candidate(language=language.name, source=source), guards=GUARDS)
            with own_worker():
                self._yardsticks[language.name] = Yardstick(idle, self.reference, self.case, self.memory).__enter__()
        return self._yardsticks.get(language.name)

    def close(self) -> None:
        """End all workers."""
        for place in list(self._starting):
            self._end(place)
        self._canaries.end()
        for side in self._yardsticks.values():
            side.__exit__()
        self._pool.shutdown()
        self._pool_of_later.shutdown()
        if self.memory is not None:
            os.close(self.memory)
        atexit.unregister(self.close)

    def _check_canaries(self) -> None:
        """As `Canaries.check`, in a worker that starts again now if it failed, or if it has served."""
        if self._canaries.has_failed() or not self._canaries.result().worker.lives:
            self._canaries = self._start_canaries()
        self._canaries.result().check()
        self._canaries.end()

    def _running(self, name: str) -> TimedWorker:
        """A baseline of the first set. One that failed is started again now, when no candidate is checked beside it."""
        if name in self._starting[0]:
            try:
                return self._starting[0][name].result()
            except Exception as error:
                if isinstance(error, Fault) and error.outcome not in DISTURBED:
                    raise
        self._starting[0] |= self._start([name], self._pool)
        return self._starting[0][name].result()

    def _median_us(self, side: TimedWorker) -> float:
        """Median time of a few calls. Raises Fault if the outputs are less accurate than a candidate's must be."""
        side.capture(on=True)
        calls_us = [side.timed(self.case.inputs).call.inside_us for _ in range(TRIES)]
        result = self.case.compare(side.timed(self.case.inputs).outputs)
        if result.outcome is not Outcome.PASSED:
            raise Fault(result.outcome, result.detail)
        return median(calls_us)

    def _lasts(self, place: int) -> bool:
        """Whether a set has started and lasts for another session."""
        found = self._starting.get(place, {}).values()
        return bool(found) and all(not s.has_failed() and s.result().worker.lasts for s in found)

    def _restart(self, places: Sequence[int], names: Sequence[str]) -> None:
        """Start the sets of some places together, and wait for all, because to start disturbs what is timed."""
        for place in places:
            self._end(place if self.kept > 1 else 0)  # large inputs have no room for two sets
            self._starting[place] = self._start(names, self._pool_of_later)
        for place in places:
            for starting in self._starting[place].values():
                starting.wait()

    def _start(self, names: Iterable[str], pool: Executor) -> dict[str, PendingProcess[TimedWorker]]:
        sides = {name: TimedWorker(self._trials[name], self.reference, self.case, self.memory) for name in names}
        return {name: PendingProcess(pool, side, side.__enter__) for name, side in sides.items()}

    def _start_canaries(self) -> PendingProcess[Canaries]:
        canaries = Canaries(self._trial_of, self.reference.device)
        return PendingProcess(self._pool, canaries, canaries.__enter__)

    def _end_beside(self) -> None:
        for place in [place for place in self._starting if place < 0]:
            self._end(place)

    def _end(self, place: int) -> None:
        for starting in self._starting.pop(place, {}).values():
            starting.end()


@contextmanager
def own_worker() -> Iterator[None]:
    """Turn what goes wrong with a worker that the judge starts for itself into a JudgeError: it is no candidate."""
    try:
        yield
    except FAILURES as error:
        raise _failed(error) from error


def _failed(error: Exception) -> JudgeError:
    return JudgeError(
        f"a worker of the judge itself fails: {error}",
        hint="the task's reference must run on this machine, in the sandbox and within the time limit of a call",
    )

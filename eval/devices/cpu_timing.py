"""Time a candidate on this machine's CPU against the best baseline, by the judge's clock."""

import math
import random
import secrets
import time
import timeit
from collections.abc import Callable
from statistics import median
from typing import Any

import torch

from eval.cases import Case, given_case
from eval.fault import Fault
from eval.machine import cpu_seconds
from eval.reference import Reference
from eval.timing import clocks_agree, session_of
from eval.worker.process import Guard, WorkerProcess
from eval.worker.trial import Trial
from kb.model.evidence import WIN_MARGIN, WIN_SESSIONS, Outcome, Session, Timing

BATCH_S = 0.01
"""Minimum time of a batch of the baseline's calls, so that the cost of a question to the worker is small."""
MOST_SETS, COMPARED_SETS = 256, 8
MOST_BYTES = 512 << 20
"""Maximum size of all input sets and the outputs of one batch."""
LEAST_ROUNDS, MOST_ROUNDS, SESSION_S = 8, 20, 2.5
WARM_ROUNDS = 2
"""Rounds that come first and do not count, because memory is allocated in them."""
SETTLE_S = 0.01
"""Pause before each batch: threads of the other side's OpenMP pool spin for some milliseconds after their work."""
REHEARSALS = 20
TRIES = 5


class Baselines:
    """The reference run eagerly and by torch.compile, which happens on construction.

    Attributes:
        case: One set of inputs at the task's sizes, with the expected outputs and the reference's own error.
        medians_us: For each baseline, a quick median of the time of one call.
        notes: Reasons why a baseline is missing.
    """

    def __init__(self, reference: Reference) -> None:
        self.reference = reference
        self.case = given_case("timed", reference)
        inputs = self.case.inputs
        self._calls: dict[str, Callable[..., Any]] = {"eager": reference.model}
        self.notes: list[str] = []
        try:
            compiled = torch.compile(reference.model, dynamic=False)
            with torch.no_grad():
                compiled(*inputs)
            self._calls["torch.compile"] = compiled
        except Exception as error:  # noqa: BLE001 - no C++ compiler, or the compiler fails on this reference
            self.notes.append(f"no torch.compile baseline: {type(error).__name__}: {str(error)[:200]}")
        self.medians_us = {name: _median_us(call, inputs) for name, call in self._calls.items()}
        self.best = min(self.medians_us, key=lambda name: self.medians_us[name])

    def run(self, sets: list[list[Any]]) -> tuple[float, list[Any]]:
        """Run one batch of the best baseline; return its time in seconds and its outputs per set."""
        call = self._calls[self.best]
        with torch.no_grad():
            start = time.perf_counter()
            outputs = [call(*arguments) for arguments in sets]
            return time.perf_counter() - start, outputs


def measure(trial: Trial, baselines: Baselines) -> Timing:
    """Run timing sessions in fresh workers: one, and as many as a win needs while each looks like a win.

    Raises:
        Fault: an output is wrong, the clocks disagree, or the worker failed.
    """
    sessions: list[Session] = []
    while len(sessions) < WIN_SESSIONS and all(s.low > WIN_MARGIN for s in sessions):
        sessions.append(_session(trial, baselines))
    return Timing(baseline=baselines.best, baselines_us=baselines.medians_us, sessions=tuple(sessions))


def _session(trial: Trial, baselines: Baselines) -> Session:
    reference, case, guards = baselines.reference, baselines.case, trial.guards
    with trial.worker() as worker:
        # Measured on the baseline, before the candidate is loaded: a candidate could be slow on purpose to change it.
        call_s = baselines.medians_us[baselines.best] / 1e6
        count = _set_count(call_s, case)
        costs_s = [_asking_s(worker, count, len(case.expected), count * call_s) for _ in range(REHEARSALS)]
        asking_s = median(costs_s)
        trial.build(worker, reference, case)
        trial.send_inputs(worker, trial.memory.share(worker, [case.inputs]))
        trial.run(worker, 1)
        trial.run(worker, 1)
        sets = _fresh(reference, count)
        shared = trial.memory.share(worker, sets)
        trial.send_inputs(worker, shared)

        def baseline_batch() -> tuple[float, list[Any]]:
            time.sleep(SETTLE_S)
            return baselines.run(shared.sets)

        def candidate_batch() -> tuple[float, float, dict[int, list[torch.Tensor]]]:
            time.sleep(SETTLE_S)
            answer = trial.run(worker, count)
            outside_s = max(worker.answer_s - asking_s, asking_s)
            chosen = random.SystemRandom().sample(range(count), min(count, COMPARED_SETS))
            return outside_s, answer.seconds, {n: trial.read_outputs(worker, answer, case, n) for n in chosen}

        times: list[tuple[float, float, float]] = []
        before = _spent_s(worker)
        deadline = time.monotonic() + SESSION_S
        while _goes_on(len(times) - WARM_ROUNDS, deadline):
            worker.ask("forget")  # before it gets the inputs: any later question must be timed
            if Guard.FRESH_INPUTS in guards:
                sets = _fresh(reference, count)
                for number, arguments in enumerate(sets):
                    shared.write(number, arguments)
            if len(times) % 2:
                outside_s, inside_s, outputs = candidate_batch()
                baseline_s, expected = baseline_batch()
            else:
                baseline_s, expected = baseline_batch()
                outside_s, inside_s, outputs = candidate_batch()
            if Guard.MUTATION in guards and not all(shared.unchanged(n, arguments) for n, arguments in enumerate(sets)):
                raise Fault(Outcome.MUTATED_INPUT, "a timed call changed its inputs")
            if Guard.COMPARISON in guards and not all(case.near(outputs[n], expected[n]) for n in outputs):
                raise Fault(Outcome.STALE_OUTPUT, "an output of a timed call does not match its inputs")
            times.append((baseline_s * 1e6 / count, outside_s * 1e6 / count, inside_s * 1e6 / count))
        ours_s, busy_s, passed_s = (after - b for after, b in zip(_spent_s(worker), before, strict=True))
        worker.finish()
    baseline_us, outside_us, inside_us = zip(*times[WARM_ROUNDS:], strict=True)
    if Guard.CLOCKS in guards and not clocks_agree(outside_us, inside_us, overhead_us=max(costs_s) * 1e6 / count):
        raise Fault(
            Outcome.CLOCKS_DISAGREE,
            f"a call takes {median(outside_us):.1f} us by the judge's clock, {median(inside_us):.1f} by the worker's",
        )
    return session_of(baseline_us, outside_us, inside_us, others=max(0.0, busy_s - ours_s) / passed_s)


def _spent_s(worker: WorkerProcess) -> tuple[float, float, float]:
    """CPU seconds of judge and worker, busy CPU seconds of the machine, and all its CPU seconds, since fixed times."""
    return time.process_time() + worker.cpu_s(), *cpu_seconds()


def _goes_on(rounds: int, deadline: float) -> bool:
    return rounds < LEAST_ROUNDS or (rounds < MOST_ROUNDS and time.monotonic() < deadline)


def _fresh(reference: Reference, count: int) -> list[list[Any]]:
    return [reference.inputs(secrets.randbits(62)) for _ in range(count)]


def _set_count(call_s: float, case: Case) -> int:
    """Number of input sets in a batch; each is used once, so that answers cannot be stored from call to call."""
    size = sum(t.numel() * t.element_size() for t in (*case.inputs, *case.expected) if isinstance(t, torch.Tensor))
    return max(1, min(math.ceil(BATCH_S / max(call_s, 1e-7)), MOST_SETS, MOST_BYTES // max(size, 1)))


def _median_us(call: Callable[..., Any], inputs: list[Any]) -> float:
    with torch.no_grad():
        call(*inputs)
        return median(timeit.repeat(lambda: call(*inputs), number=1, repeat=TRIES)) * 1e6


def _asking_s(worker: WorkerProcess, count: int, outputs: int, batch_s: float) -> float:
    """Overhead in seconds of a question for a batch, measured after a pause, because an idle core answers later."""
    time.sleep(SETTLE_S)
    answer = worker.ask("rehearse", sets=list(range(count)), outputs=outputs, busy_s=min(batch_s, BATCH_S))
    busy_s: float = answer["seconds"]
    return worker.answer_s - busy_s

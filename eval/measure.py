"""Times a candidate on this machine's CPU beside the best baseline, by the judge's clock."""

import math
import random
import secrets
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch

from eval.cases import Case, make_case
from eval.fault import Fault
from eval.memory import SharedTensors
from eval.reference import Reference
from eval.timing import clocks_agree, session_of
from eval.trial import Trial
from eval.worker_process import Guard
from kb.evidence import WIN_MARGIN, WIN_SESSIONS, Outcome, Session, Timing

BATCH_S = 0.005
"""A batch of calls between two looks at the clock lasts at least this, so that asking the worker costs little."""
MOST_SETS = 64
MOST_BYTES = 512 << 20
"""Of all input sets and the outputs of one batch."""
LEAST_ROUNDS, MOST_ROUNDS, SESSION_S = 8, 20, 4.0
SETTLE_S = 0.01
"""Pause before each batch: threads of the other side's OpenMP pool spin for some milliseconds after their work."""
PINGS = 20
TRIES = 5


class Baselines:
    """The reference run as well as torch can: eagerly and compiled. Compiles on construction.

    Attributes:
        medians_us: Per baseline, a quick median of one call.
        notes: Why a baseline is missing.
    """

    def __init__(self, reference: Reference) -> None:
        self.reference = reference
        inputs = reference.inputs(secrets.randbits(62))
        self._calls: dict[str, Callable[..., Any]] = {"eager": reference.model}
        self.notes: list[str] = []
        try:
            compiled = torch.compile(reference.model, dynamic=False)
            with torch.no_grad():
                compiled(*inputs)
            self._calls["torch.compile"] = compiled
        except Exception as error:  # noqa: BLE001 - no C++ compiler, or the compiler fails on this reference
            self.notes.append(f"torch.compile is not among the baselines: {type(error).__name__}: {str(error)[:200]}")
        self.medians_us = {name: _median_us(call, inputs) for name, call in self._calls.items()}
        self.best = min(self.medians_us, key=lambda name: self.medians_us[name])

    def run(self, sets: list[list[Any]]) -> tuple[float, list[Any]]:
        """Seconds of one batch of the best baseline, and its outputs per set."""
        call = self._calls[self.best]
        with torch.no_grad():
            start = time.perf_counter()
            outputs = [call(*arguments) for arguments in sets]
            return time.perf_counter() - start, outputs


def measure(trial: Trial, baselines: Baselines) -> Timing:
    """Timing sessions in fresh workers: one, and as many more as a win needs when the first looks like one.

    Raises:
        Fault: an output was wrong, the clocks disagree, or the worker failed.
    """
    sessions: list[Session] = []
    while len(sessions) < WIN_SESSIONS and all(s.low > WIN_MARGIN for s in sessions):
        sessions.append(_session(trial, baselines))
    return Timing(baseline=baselines.best, baselines_us=baselines.medians_us, sessions=tuple(sessions))


def _session(trial: Trial, baselines: Baselines) -> Session:
    reference, guards = baselines.reference, trial.guards
    case = make_case("timed", reference, reference.inputs(secrets.randbits(62)))
    with trial.worker() as worker:
        trial.build(worker, reference, case)
        shared = SharedTensors(worker.folder / "inputs", _fresh(reference, 1))
        trial.send_inputs(worker, shared)
        worker.ask("run", sets=[0])
        first_s = worker.ask("run", sets=[0])["seconds"]
        count = _set_count(first_s, case)
        shared = SharedTensors(worker.folder / "batch", _fresh(reference, count))
        trial.send_inputs(worker, shared)
        ping_s = median(_seconds_after_pause(lambda: worker.ask("ping")) for _ in range(PINGS))

        def baseline_batch() -> tuple[float, list[Any]]:
            time.sleep(SETTLE_S)
            return baselines.run(shared.sets)

        def candidate_batch() -> tuple[float, float, int, list[torch.Tensor]]:
            time.sleep(SETTLE_S)
            start = time.perf_counter()
            answer = worker.ask("run", sets=list(range(count)))
            outside_s = time.perf_counter() - start - ping_s
            chosen = random.SystemRandom().randrange(count)
            return outside_s, answer["seconds"], chosen, trial.read_outputs(worker, answer, case, chosen)

        times: list[tuple[float, float, float]] = []
        deadline = time.monotonic() + SESSION_S
        while len(times) < LEAST_ROUNDS or (len(times) < MOST_ROUNDS and time.monotonic() < deadline):
            if Guard.FRESH_INPUTS in guards:
                for number, arguments in enumerate(_fresh(reference, count)):
                    shared.write(number, arguments)
            if len(times) % 2:
                outside_s, inside_s, chosen, outputs = candidate_batch()
                baseline_s, expected = baseline_batch()
            else:
                baseline_s, expected = baseline_batch()
                outside_s, inside_s, chosen, outputs = candidate_batch()
            if Guard.COMPARISON in guards and not case.near(outputs, expected[chosen]):
                raise Fault(Outcome.STALE_OUTPUT, "an output of a timed call is not what its inputs give")
            times.append((baseline_s * 1e6 / count, max(outside_s, 1e-9) * 1e6 / count, inside_s * 1e6 / count))
        worker.finish()
    baseline_us, outside_us, inside_us = zip(*times, strict=True)
    if Guard.CLOCKS in guards and not clocks_agree(outside_us, inside_us, overhead_us=2 * ping_s * 1e6 / count):
        raise Fault(
            Outcome.CLOCKS_DISAGREE,
            f"a call takes {median(outside_us):.1f} us by the judge's clock, {median(inside_us):.1f} by the worker's",
        )
    return session_of(baseline_us, outside_us, inside_us)


def _fresh(reference: Reference, count: int) -> list[list[Any]]:
    return [reference.inputs(secrets.randbits(62)) for _ in range(count)]


def _set_count(call_s: float, case: Case) -> int:
    """Input sets for one batch: each is used once in it, so that nothing can be stored from call to call."""
    size = sum(t.numel() * t.element_size() for t in (*case.inputs, *case.expected) if isinstance(t, torch.Tensor))
    return max(1, min(math.ceil(BATCH_S / max(call_s, 1e-7)), MOST_SETS, MOST_BYTES // max(size, 1)))


def _median_us(call: Callable[..., Any], inputs: list[Any]) -> float:
    with torch.no_grad():
        call(*inputs)
        return median(_seconds(lambda: call(*inputs)) for _ in range(TRIES)) * 1e6


def _seconds_after_pause(call: Callable[[], Any]) -> float:
    """As batches are timed: a core that slept answers later."""
    time.sleep(SETTLE_S)
    return _seconds(call)


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start

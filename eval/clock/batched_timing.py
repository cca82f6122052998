"""Time several calls in one question: what a candidate can hide in a question is then shared by all of them."""

import secrets
import time
from collections.abc import Mapping, Sequence
from functools import partial
from math import inf
from typing import NamedTuple

from eval.clock.baselines import Baselines
from eval.clock.timed_worker import TimedWorker
from eval.clock.timing import CallTime, clocks_disagree, hidden_us, session_of
from eval.supervisor.settings import Guard
from eval.worker.fault import Fault
from kb.types.evidence import Outcome

LEAST_BATCHES, MOST_BATCHES = 8, 30


class BatchedTiming(NamedTuple):
    """What was measured with batches of calls; nothing, if `baselines` is empty. A time is that of a whole batch."""

    size: int = 1
    """Calls in a batch."""
    candidate: Sequence[CallTime] = ()
    baselines: Mapping[str, Sequence[CallTime]] = {}

    def speedup(self, baseline: str) -> float:
        """The upper end of its interval, so that noise refuses no win; infinite if nothing was measured."""
        if not (honest := self.baselines.get(baseline)):
            return inf
        hidden, inside_us = hidden_us(self.candidate, honest), [batch.inside_us for batch in self.candidate]
        return session_of([batch.inside_us for batch in honest], [hidden + us for us in inside_us], inside_us).high

    @property
    def clocks_disagree(self) -> bool:
        """Whether they disagree in comparison with all baselines: one of these may be lucky with its core.

        What a candidate hides in each call adds up here, but the scatter of honest replies does not.
        """
        return bool(self.baselines) and all(clocks_disagree(self.candidate, each) for each in self.baselines.values())


def time_batches(
    candidate: TimedWorker, baselines: Baselines, guards: frozenset[Guard], seconds: float
) -> BatchedTiming:
    """Time whole batches of calls of candidate and baselines for some seconds. Each slot of a worker gets one call.

    All inputs of a batch are visible at once, so single calls are timed too, and the smaller speed-up counts.

    Raises:
        Fault: the candidate failed, or an output does not match its inputs.
    """
    reference, case = baselines.reference, baselines.case
    times: list[CallTime] = []
    baseline_times: dict[str, list[CallTime]] = {name: [] for name in baselines.workers}
    fresh, start = Guard.FRESH_INPUTS in guards, time.monotonic()
    while len(times) < LEAST_BATCHES or (len(times) < MOST_BATCHES and time.monotonic() < start + seconds):
        sets = [reference.inputs(secrets.randbits(62)) if fresh else case.inputs for _ in range(candidate.slots)]
        reply = candidate.time_batch(sets)
        times.append(reply.time)
        expected = baselines.each(partial(TimedWorker.time_batch, sets=sets))
        for name, baseline_reply in expected.items():
            baseline_times[name].append(baseline_reply.time)
        pairs = zip(reply.outputs, next(iter(expected.values())).outputs, strict=True)
        if Guard.COMPARISON in guards and not all(case.near(outputs, native) for outputs, native in pairs):
            why = "of several calls, an output is not that of its inputs, or not a new tensor"
            raise Fault(Outcome.STALE_OUTPUT, why)
    return BatchedTiming(candidate.slots, times, baseline_times)

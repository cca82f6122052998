"""A short timing of a candidate. It steers a search; nothing is won by it."""

import time

from eval.clock.baselines import Baselines
from eval.clock.sessions import one_thread
from eval.clock.timed_worker import SHORT_US, TimedWorker
from eval.supervisor.trial import Trial
from eval.worker.fault import Fault
from kb.types.evidence import Outcome

TIMING_S = 0.3
"""Calls are timed for so long, or until they are enough."""
ENOUGH = 100
QUANTILE = 0.1
"""Of the times. The judge repeats what other work disturbs. Here other work doubled the median, but not this."""


def quick_time_us(trial: Trial, baselines: Baselines) -> float:
    """Time of a call on the inputs of the baselines, which need not run, in microseconds: a low quantile of a few.

    Raises:
        Fault: the candidate failed, or an output is wrong there.
    """
    case = baselines.case
    trial.start_warm_workers(checks=0, sessions=2)  # one for this candidate, one for the next
    baselines.wait()
    with one_thread(), TimedWorker(trial, baselines.reference, case, baselines.memory) as worker:
        if trial.warm_pool:
            trial.warm_pool.wait()
        reply = worker.call(case.inputs)
        if reply.time.inside_us < SHORT_US:
            worker.capture(on=True)
        start, calls_us = time.monotonic(), [worker.repeat()]
        while time.monotonic() < start + TIMING_S and len(calls_us) < ENOUGH:
            calls_us.append(worker.repeat())
    if (result := case.compare(reply.outputs)).outcome is not Outcome.PASSED:
        raise Fault(result.outcome, result.detail)
    return sorted(calls_us)[int(QUANTILE * len(calls_us))]

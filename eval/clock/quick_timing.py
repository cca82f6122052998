"""A short timing of a candidate. It steers a search; nothing is won by it."""

import time

from eval.clock.baselines import Baselines
from eval.clock.sessions import one_thread
from eval.clock.timed_worker import SHORT_US, TimedWorker
from eval.supervisor.trial import Trial
from eval.worker.fault import Fault
from kb.types.evidence import Outcome

TIMING_S, PATIENCE_S = 0.3, 1.0
"""Calls are timed for so long; if these are few, for longer."""
FEW, ENOUGH = 10, 100


def quick_time_us(trial: Trial, baselines: Baselines) -> float:
    """Microseconds of the fastest of a few calls on the inputs of the baselines, which need not run.

    Other work only slows calls: beside some, the median doubled, and the fastest call hardly changed.

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
        start, calls_us = time.monotonic(), list[float]()
        while len(calls_us) < ENOUGH:
            calls_us.append(worker.repeat())
            if time.monotonic() > start + (PATIENCE_S if len(calls_us) < FEW else TIMING_S):
                break
    if (result := case.compare(reply.outputs)).outcome is not Outcome.PASSED:
        raise Fault(result.outcome, result.detail)
    return min(calls_us)

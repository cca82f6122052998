"""The rounds of a timing session: each calls the candidate and all baselines on the same new inputs."""

import random
import secrets
import time
from collections.abc import Sequence
from statistics import fmean, median
from typing import Any, NamedTuple

import torch

from eval.clock.baselines import Baselines, as_judge_errors
from eval.clock.timed_worker import IdleWorker, Reply, TimedWorker
from eval.clock.timing import UNSEEN, CallTime, median_us
from eval.machine import CpuUse
from eval.oracle.cases import Case
from eval.supervisor.settings import Guard
from eval.worker.fault import Fault
from kb.types.evidence import Outcome

LEAST_ROUNDS, ENOUGH_ROUNDS, MOST_ROUNDS = 10, 30, 200
EXACT = 0.005
"""Fewer rounds are enough if the standard error of the fastest baseline's median is this: processes differ by more."""
PATIENCE = 4
"""A session with less than enough rounds may last so many times as long."""
LOST = 1.5
"""A candidate whose median is so many times that of the fastest baseline has lost; few rounds are enough to say so."""
HOPELESS, HOPELESS_ROUNDS, HOPELESS_S = 2.0, 3, 10.0
"""A session ends after so many rounds and seconds if the candidate's fastest call took this many times as long as the
slowest call of any baseline. It cannot win any more, so no further case is tried."""


class RoundTimes(NamedTuple):
    """Times of all calls in the rounds of a session."""

    candidate: list[CallTime]
    baselines: dict[str, list[CallTime]]
    idle: list[CallTime]
    """Those of the idle worker; empty if there is none, because calls are long or all workers replay theirs."""
    unseen: float = UNSEEN["cpu"]
    """A call can work unseen for this many times as long as an honest worker takes to answer."""

    def honest(self, baseline: str) -> list[CallTime]:
        """The calls that show how long honest questions and replies take."""
        return self.idle or self.baselines[baseline]

    @property
    def fastest(self) -> str:
        """Name of the fastest baseline."""
        return min(self.baselines, key=lambda name: median_us(self.baselines[name]))

    @property
    def speedup(self) -> float:
        """Over the fastest baseline, by the clock inside the worker alone."""
        return median_us(self.baselines[self.fastest]) / median_us(self.candidate)

    @property
    def needed(self) -> float:
        """So many rounds make the fastest baseline's median exact; what a candidate does cannot change that.

        For normal times, the standard error of a median is 1.57 times the mean deviation by the root of their number.
        """
        baseline_us = [call.inside_us for call in self.baselines[self.fastest]]
        deviation_us = fmean(abs(us - median(baseline_us)) for us in baseline_us)
        return max(1.0, (1.57 * deviation_us / median(baseline_us) / EXACT) ** 2)

    def unseen_us(self, baseline: str) -> float:
        """How long a question could be used to work unseen."""
        return self.unseen * median(call.answering_us for call in self.honest(baseline))

    @property
    def is_doubtful(self) -> bool:
        """Whether the candidate gains time, but less than it could hide in a question."""
        gain_us = median_us(self.baselines[self.fastest]) - median_us(self.candidate)
        return 0 < gain_us < self.unseen_us(self.fastest)

    @property
    def is_hopeless(self) -> bool:
        slowest_us = max(call.inside_us for calls in self.baselines.values() for call in calls)
        fastest_us = min(call.inside_us for call in self.candidate)
        return len(self.candidate) >= HOPELESS_ROUNDS and fastest_us > HOPELESS * slowest_us

    def progress(self, passed: float) -> float:
        """How much of a session is done after some share of its time; 1 or more if it may end."""
        rounds = len(self.candidate)
        enough = LEAST_ROUNDS if self.speedup < 1 / LOST else min(ENOUGH_ROUNDS, self.needed)
        progress = max(rounds / MOST_ROUNDS, min(passed, rounds / enough), passed / PATIENCE)
        return min(progress, rounds / LEAST_ROUNDS)


def time_rounds(
    candidate: TimedWorker,
    baselines: Baselines,
    idle_worker: IdleWorker | None,
    cases: Sequence[Case],
    guards: frozenset[Guard],
    use: CpuUse,
    session_s: float,
    unseen: float = UNSEEN["cpu"],
) -> RoundTimes:
    """Time the calls of a session.

    Between the rounds, some that are not counted try the cases: otherwise a candidate that finds out that it is timed
    could do without what the task's own inputs do not need. Each case is tried once at a random moment, so that a
    candidate can neither foresee nor recognise it.

    Args:
        session_s: Time after which the session ends, if it has enough rounds.
        unseen: See RoundTimes.

    Raises:
        Fault: the candidate failed, or an output is wrong.
        JudgeError: a baseline or the idle worker failed.
    """
    times = RoundTimes([], {name: [] for name in baselines.workers}, [], unseen)
    moments = _moments(cases) if Guard.FRESH_INPUTS in guards else []
    start, progress = time.monotonic(), 0.0
    while progress < 1:
        baselines_first = len(times.candidate) % 2 == 1
        while moments and moments[-1][0] <= progress:
            _try_case(candidate, baselines, moments.pop()[1], guards, baselines_first=baselines_first)
        time_us, baseline_times = _timed_round(candidate, baselines, guards, baselines_first=baselines_first)
        use.look()
        times.candidate.append(time_us)
        for name, baseline_time in baseline_times.items():
            times.baselines[name].append(baseline_time)
        if idle_worker:
            with as_judge_errors():
                times.idle.append(idle_worker.time_wait(time_us))
        passed_s = time.monotonic() - start
        if passed_s > HOPELESS_S and times.is_hopeless:
            return times
        progress = times.progress(passed_s / session_s)
    for _, late in moments:
        _try_case(candidate, baselines, late, guards, baselines_first=False)
    return times


def _timed_round(
    candidate: TimedWorker, baselines: Baselines, guards: frozenset[Guard], *, baselines_first: bool
) -> tuple[CallTime, dict[str, CallTime]]:
    """Times on new inputs, which leave no memory behind. Raises Fault if the candidate's output is wrong."""
    reference, case = baselines.reference, baselines.case
    inputs = reference.inputs(secrets.randbits(62)) if Guard.FRESH_INPUTS in guards else case.inputs
    reply, expected = _round(candidate, baselines, inputs, baselines_first=baselines_first)
    if Guard.COMPARISON in guards and not case.near(reply.outputs, next(iter(expected.values())).outputs):
        raise Fault(Outcome.STALE_OUTPUT, "an output of a timed call does not match its inputs")
    return reply.time, {name: baseline_reply.time for name, baseline_reply in expected.items()}


def _round(
    candidate: TimedWorker, baselines: Baselines, inputs: Sequence[Any], *, baselines_first: bool
) -> tuple[Reply[torch.Tensor], dict[str, Reply[torch.Tensor]]]:
    """Call candidate and baselines on the same inputs."""
    if baselines_first:
        replies = baselines.each(lambda worker: worker.time_call(inputs))
        return candidate.time_call(inputs), replies
    return candidate.time_call(inputs), baselines.each(lambda worker: worker.time_call(inputs))


def _try_case(
    candidate: TimedWorker, baselines: Baselines, case: Case, guards: frozenset[Guard], *, baselines_first: bool
) -> None:
    """Try a case between the timed calls, as if it were one. Raises Fault if the candidate is wrong."""
    reply, _ = _round(candidate, baselines, case.inputs, baselines_first=baselines_first)
    result = case.compare(reply.outputs)
    if Guard.COMPARISON in guards and result.outcome is not Outcome.PASSED:
        raise Fault(Outcome.INCORRECT, f"{result.detail} ({case.name}, while it was timed)")


def _moments(cases: Sequence[Case]) -> list[tuple[float, Case]]:
    """A random moment of a session, from 0 to 1, for each case; the latest first."""
    chance = random.SystemRandom()
    return sorted(((chance.random(), case) for case in cases), key=lambda found: -found[0])

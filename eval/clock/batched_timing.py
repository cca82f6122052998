"""Time several calls in one question: what a candidate can hide in a question is then shared by all of them."""

import secrets
import time
from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

from eval.clock.baselines import Baselines
from eval.clock.timed_worker import Answers, TimedWorker
from eval.clock.timing import Call, clocks_disagree, hidden_us, session_of
from eval.fault import Fault
from eval.oracle.cases import Case
from eval.supervisor.process import Guard
from kb.types.evidence import Outcome

LEAST_QUESTIONS, MOST_QUESTIONS, SECONDS = 6, 30, 0.75


class BatchedTiming(NamedTuple):
    """What was measured with several calls to a question; nothing, if `theirs` is empty."""

    calls: int = 1
    """In a question."""
    mine: Sequence[Call] = ()
    """The candidate's times, of all calls of a question."""
    theirs: Mapping[str, Sequence[Call]] = {}
    """Those of each baseline."""

    def speedup(self, baseline: str) -> float:
        """The upper end of its interval, so that noise refuses no win; infinite if nothing was measured."""
        theirs = self.theirs.get(baseline)
        return _highest_speedup(theirs, self.mine) if theirs else inf

    @property
    def disagree(self) -> bool:
        """Whether the clocks disagree, beside all baselines: one of them may be lucky with its core.

        What a candidate hides in each call adds up here, but the scatter of honest answers does not.
        """
        return bool(self.theirs) and all(clocks_disagree(self.mine, calls) for calls in self.theirs.values())


def time_batches(candidate: TimedWorker, baselines: Baselines, guards: frozenset[Guard]) -> BatchedTiming:
    """Ask candidate and baselines for several calls at once, and time the answers.

    A worker has places for a number of inputs, and makes one call on each.

    All inputs of a question are visible at once, so single calls are timed too, and the smaller speed-up counts.

    Raises:
        Fault: the candidate failed, or an output does not match its inputs.
    """
    reference, case = baselines.reference, baselines.case
    mine: list[Call] = []
    theirs: dict[str, list[Call]] = {name: [] for name in baselines.sides}
    fresh, start = Guard.FRESH_INPUTS in guards, time.monotonic()
    while len(mine) < LEAST_QUESTIONS or (len(mine) < MOST_QUESTIONS and time.monotonic() < start + SECONDS):
        sets = [reference.inputs(secrets.randbits(62)) if fresh else case.inputs for _ in range(candidate.slots)]
        answers = candidate.together(sets)
        mine.append(answers.call)
        for name, others in baselines.together(sets).items():
            theirs[name].append(others.call)
            if Guard.COMPARISON in guards:
                _compare(answers, others, case)
    return BatchedTiming(candidate.slots, mine, theirs)


def _highest_speedup(theirs: Sequence[Call], mine: Sequence[Call]) -> float:
    hidden, inside_us = hidden_us(mine, theirs), [call.inside_us for call in mine]
    return session_of([call.inside_us for call in theirs], [hidden + us for us in inside_us], inside_us).high


def _compare(answers: Answers, others: Answers, case: Case) -> None:
    for outputs, expected in zip(answers.outputs, others.outputs, strict=True):
        if not case.near(outputs, expected):
            raise Fault(
                Outcome.STALE_OUTPUT, "of several calls, an output is not that of its inputs, or not a new tensor"
            )

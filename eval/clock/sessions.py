"""Time a candidate against the fastest baseline, in sessions by the judge's clock."""

import math
import random
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from statistics import median
from typing import Any, NamedTuple

import torch

from eval.clock.baselines import FAILURES, Baselines, own_worker
from eval.clock.batched_timing import BatchedTiming, time_batches
from eval.clock.timed_worker import SHORT_US, Answer, TimedWorker, Yardstick
from eval.clock.timing import Call, clocks_disagree, hidden_us, session_of, works_between
from eval.fault import Fault
from eval.machine import CpuUse
from eval.oracle.cases import Case
from eval.supervisor.process import Guard
from eval.supervisor.trial import Trial
from kb.errors import JudgeError
from kb.types.evidence import MOST_OTHERS, WIN_MARGIN, WIN_SESSIONS, GpuState, Outcome, Session, Timing

LEAST_ROUNDS, ENOUGH_ROUNDS, MOST_ROUNDS, MOST_SESSIONS = 10, 30, 200, 12
PATIENCE = 4
"""A session with less than enough rounds may last so many times as long."""
LOST = 1.5
"""A candidate whose median is so many times that of the fastest baseline has lost; few rounds are enough to say so."""
HOPELESS, HOPELESS_ROUNDS, HOPELESS_S = 2.0, 3, 10.0
"""A session ends after so many rounds and seconds if the candidate's fastest call took this many times as long as the
slowest call of any baseline. It cannot win any more, so no further case is tried."""


class Pace(NamedTuple):
    """How long candidates are timed on a device."""

    session_s: float
    """Time after which a session ends, if it has enough rounds."""
    luck: float
    """By how much, as the logarithm of a speed-up, a lucky pair of processes differs."""
    bad_luck: float
    """By how much, likewise, the candidate's process may be slower: one that loses by less gets a second session."""

    @property
    def small_win(self) -> float:
        """Logarithm of a speed-up. The judge times a win by less in twice as many sessions."""
        return 2 * self.luck


PACES = {"cpu": Pace(0.75, 0.1, 0.1), "cuda": Pace(0.75, 0.03, 0.2)}
"""By where torch keeps the tensors. Processes on a GPU differ by less, but of 210 on an H100 17 were slower than others
with the same kernel, for as long as they lived; four of them by a quarter or more (process-luck-h100.json)."""
ATTEMPTS, PAUSE_S = 4, 2.0
"""Sessions that are tried until other work does not disturb one, and the pause between them."""


class _Tried(NamedTuple):
    """What was measured in one session."""

    mine: list[Call]
    theirs: dict[str, list[Call]]
    waits: list[Call]
    """Those of the yardstick; empty if there is none, because calls are long or all sides replay theirs."""
    together: BatchedTiming
    others: float
    users: tuple[str, ...]
    memory_bytes: int
    baselines_bytes: Mapping[str, int]
    gpu: GpuState | None

    def session(self, baseline: str) -> Session:
        theirs = self.theirs[baseline]
        honest = self.waits or theirs
        hidden = hidden_us(self.mine, honest)
        times_us = [call.inside_us + hidden for call in self.mine]
        inside_us = [call.inside_us for call in self.mine]
        session = session_of([call.inside_us for call in theirs], times_us, inside_us)
        slower = session.speedup / self.together.speedup(baseline)
        if slower > 1:
            session = session_of([call.inside_us for call in theirs], [slower * us for us in times_us], inside_us)
        answering_us = median(call.answering_us for call in honest) / self.together.calls
        told = {"others": self.others, "gpu": self.gpu, "answering_us": answering_us}
        memory = {"memory_bytes": self.memory_bytes, "baseline_memory_bytes": self.baselines_bytes[baseline]}
        return session.model_copy(update=told | memory)


def measure(
    trial: Trial, baselines: Baselines, cases: Sequence[Case], watch: Callable[[], CpuUse] = CpuUse
) -> tuple[Timing, str]:
    """Run timing sessions in fresh workers: one, and more while it may still turn out as a win.

    A session that other work disturbs is repeated.

    Args:
        cases: Those of the baselines' reference are tried again between the timed calls.
        watch: Starts to watch what else the machine does.

    Returns:
        The times, and in words what kept the machine busy if it stayed so; then the times say nothing.

    Raises:
        Fault: an output is wrong, the clocks disagree, or the worker failed.
    """
    cases = [case for case in cases if case.reference is baselines.reference]
    tried: list[_Tried] = []
    with closing(_Candidates(trial, baselines)) as candidates:
        while True:
            session, busy = _clean_session(candidates, len(tried), cases, watch)
            tried.append(session)
            best = _fastest(tried)
            sessions = tuple(each.session(best) for each in tried)
            timing = Timing(baseline=best, baselines_us=baselines.medians_us, sessions=sessions)
            if not _undecided(timing, PACES[baselines.reference.device]):
                return timing, busy


class _Candidates:
    """A candidate's workers, a new one for each session, and the baselines' beside it.

    Of two processes of the same program the later may be 2 % faster. So in the sessions with which a small win is
    tried again, the candidate starts before the baselines. Where several sets of baselines may run, those of several
    sessions start together.
    """

    def __init__(self, trial: Trial, baselines: Baselines) -> None:
        self.trial, self.baselines = trial, baselines
        self._early: dict[int, TimedWorker] = {}
        """Those that started before their baselines, by session."""

    @contextmanager
    def start(self, session: int) -> Iterator[TimedWorker]:
        """Start the workers for a session, counted from 0; the baselines' are `baselines.sides`.

        Raises:
            Fault: the candidate fails, or the baselines start only without it, as when it takes all memory.
            JudgeError: the baselines do not start at all.
        """
        if session < WIN_SESSIONS:
            self.baselines.begin(session)
            side = self._side()
        else:
            if session not in self._early:
                self._start_early(session)
            self.baselines.begin(session, beside=True)
            side = self._early.pop(session)
        try:
            yield side
        finally:
            side.__exit__()

    def close(self) -> None:
        while self._early:
            self._early.popitem()[1].__exit__()

    def _start_early(self, session: int) -> None:
        for count in (self.baselines.kept, 1):  # there may be no room for several
            self.close()
            self.trial.start_warm_workers(checks=1, sessions=count)
            with suppress(JudgeError, *(FAILURES if count > 1 else ())):
                for number in range(session, session + count):
                    self._early[number] = self._side()
                return self.baselines.start_beside(list(self._early))
        self.close()
        self.baselines.start_beside([session])
        raise Fault(Outcome.CRASHED, "the baselines do not start beside it: it leaves them too little memory")

    def _side(self) -> TimedWorker:
        return TimedWorker(self.trial, self.baselines.reference, self.baselines.case, self.baselines.memory).__enter__()


def _undecided(timing: Timing, pace: Pace) -> bool:
    """Whether more sessions may decide otherwise: it may become a win, or is one that lucky processes may have given.

    The first sessions of all candidates have the same baselines, so the luck of these stays. A small win must also hold
    against others. After one session, a process with bad luck may be all that is wrong.
    """
    count, gain = len(timing.sessions), math.log(timing.speedup)
    if timing.won:
        return gain < pace.small_win and count < 2 * WIN_SESSIONS
    if timing.busy or count >= MOST_SESSIONS:
        return False
    if count < WIN_SESSIONS:
        return gain + (pace.bad_luck if count == 1 else pace.luck / math.sqrt(count)) > math.log(WIN_MARGIN)
    return timing.may_win(MOST_SESSIONS)


def _fastest(tried: Sequence[_Tried]) -> str:
    """The baseline that was fastest over all sessions. The fastest in one of them may only have been lucky there."""
    return min(tried[0].theirs, key=lambda name: sum(math.log(_median_us(each.theirs[name])) for each in tried))


def _median_us(calls: Sequence[Call]) -> float:
    return median(call.inside_us for call in calls)


def _clean_session(
    candidates: _Candidates, number: int, cases: Sequence[Case], watch: Callable[[], CpuUse]
) -> tuple[_Tried, str]:
    """A session that nothing disturbed, or the last of several; and what disturbed it.

    Raises:
        Fault: as in `measure`. Clocks must disagree in every session, because a process may be unlucky with its core.
    """
    disagreement: Fault | None = None
    for attempt in range(ATTEMPTS):
        time.sleep(PAUSE_S * bool(attempt))
        tried = _session(candidates, number, cases, watch)
        disagreement = _disagreement(tried) if Guard.CLOCKS in candidates.trial.guards else None
        if tried.others <= MOST_OTHERS and disagreement is None:
            return tried, ""
    if disagreement and tried.others <= MOST_OTHERS:
        raise disagreement
    return tried, f"other work took {tried.others:.0%} of the CPU time ({', '.join(tried.users)}): judge it again"


def _session(candidates: _Candidates, number: int, cases: Sequence[Case], watch: Callable[[], CpuUse]) -> _Tried:
    """One session, counted from 0."""
    trial, baselines = candidates.trial, candidates.baselines
    with _one_thread(), candidates.start(number) as candidate:
        short = min(baselines.medians_us.values()) < SHORT_US
        replayed = [candidate.capture(on=short), baselines.capture(on=short)]
        yardstick = baselines.yardstick(trial) if short and not all(replayed) else None
        use = watch()
        mine, theirs, waits = _rounds(trial, candidate, baselines, yardstick, cases, use)
        faster = all(_median_us(mine) < _median_us(calls) for calls in theirs.values())
        together = BatchedTiming()
        if faster and short and Guard.TOGETHER in trial.guards:
            together = time_batches(candidate, baselines, trial.guards)
        others, users = use.by_others()
        own_bytes = use.memory_bytes(candidate.worker.pid)
        their_bytes = {name: use.memory_bytes(side.worker.pid) for name, side in baselines.sides.items()}
        candidate.worker.finish()
    return _Tried(mine, theirs, waits, together, others, users, own_bytes, their_bytes, use.gpu())


def _disagreement(tried: _Tried) -> Fault | None:
    """Why the times of a candidate cannot be believed; None if they can.

    Its clock must disagree with the yardstick's and with the fastest baseline's, because either may be lucky with its
    core. What it hides from the yardstick alone is added to its time. Where all sides replay recorded calls, they
    answer alike, and several calls timed together show best what a clock hides in each.
    """
    mine, theirs = tried.mine, tried.theirs[_fastest([tried])]
    disagree = clocks_disagree(mine, tried.waits or theirs) and clocks_disagree(mine, theirs)
    outside_us, inside_us, _, between_us, _ = (median(times) for times in zip(*mine, strict=True))
    if disagree or (tried.together.disagree and not tried.waits):
        detail = f"a call takes {outside_us:.1f} us by the judge's clock, {inside_us:.1f} by the worker's"
        return Fault(Outcome.CLOCKS_DISAGREE, detail)
    if works_between(mine, theirs):
        detail = f"a timed call takes {outside_us:.1f} us, but the untimed call before it {between_us:.1f}"
        return Fault(Outcome.CLOCKS_DISAGREE, detail)
    return None


def _rounds(
    trial: Trial,
    candidate: TimedWorker,
    baselines: Baselines,
    yardstick: Yardstick | None,
    cases: Sequence[Case],
    use: CpuUse,
) -> tuple[list[Call], dict[str, list[Call]], list[Call]]:
    """Times of the candidate, of each baseline and of the yardstick; a round calls all of them on the same new inputs.

    Between the rounds, some that are not counted try the cases: otherwise a candidate that finds out that it is timed
    could do without what the task's own inputs do not need. Each case is tried once at a random moment, so that a
    candidate can neither foresee nor recognise it.
    """
    reference, case, guards = baselines.reference, baselines.case, trial.guards
    mine: list[Call] = []
    theirs: dict[str, list[Call]] = {name: [] for name in baselines.sides}
    waits: list[Call] = []
    arguments = case.inputs
    moments = _moments(cases) if Guard.FRESH_INPUTS in guards else []
    session_s = PACES[reference.device].session_s
    start, progress = time.monotonic(), 0.0
    while progress < 1:
        turn = len(mine) % 2
        if Guard.FRESH_INPUTS in guards:
            arguments = reference.inputs(secrets.randbits(62))
        while moments and moments[-1][0] <= progress:
            _try(candidate, baselines, moments.pop()[1], turn, guards)
        answer, given = _round(candidate, baselines, arguments, turn)
        expected = next(iter(given.values())).outputs
        if Guard.COMPARISON in guards and not case.near(answer.outputs, expected):
            raise Fault(Outcome.STALE_OUTPUT, "an output of a timed call does not match its inputs")
        use.look()
        mine.append(answer.call)
        for name, other in given.items():
            theirs[name].append(other.call)
        if yardstick:
            with own_worker():
                waits.append(yardstick.wait(answer.call))
        seconds = time.monotonic() - start
        if seconds > HOPELESS_S and _is_hopeless(mine, theirs):
            return mine, theirs, waits
        passed, count = seconds / session_s, len(mine)
        enough = LEAST_ROUNDS if _has_lost(mine, theirs) else ENOUGH_ROUNDS
        progress = max(count / MOST_ROUNDS, min(passed, count / enough), passed / PATIENCE)
        progress = min(progress, count / LEAST_ROUNDS)
    for _, tried in moments:
        _try(candidate, baselines, tried, 0, guards)
    return mine, theirs, waits


def _has_lost(mine: Sequence[Call], theirs: Mapping[str, Sequence[Call]]) -> bool:
    return _median_us(mine) > LOST * min(map(_median_us, theirs.values()))


def _is_hopeless(mine: Sequence[Call], theirs: Mapping[str, Sequence[Call]]) -> bool:
    slowest_us = max(call.inside_us for calls in theirs.values() for call in calls)
    return len(mine) >= HOPELESS_ROUNDS and min(call.inside_us for call in mine) > HOPELESS * slowest_us


def _round(
    candidate: TimedWorker, baselines: Baselines, arguments: Sequence[Any], turn: int
) -> tuple[Answer, dict[str, Answer]]:
    """Call all sides on the same inputs, and the baselines first in turn 1."""
    if turn:
        given = baselines.timed(arguments)
        return candidate.timed(arguments), given
    return candidate.timed(arguments), baselines.timed(arguments)


def _moments(cases: Sequence[Case]) -> list[tuple[float, Case]]:
    """A random moment of a session, from 0 to 1, for each case; the latest first."""
    chance = random.SystemRandom()
    return sorted(((chance.random(), case) for case in cases), key=lambda found: -found[0])


def _try(candidate: TimedWorker, baselines: Baselines, case: Case, turn: int, guards: frozenset[Guard]) -> None:
    """Try a case between the timed calls, as if it were one. Raises Fault if the candidate is wrong."""
    answer, _ = _round(candidate, baselines, case.inputs, turn)
    found = case.compare(answer.outputs)
    if Guard.COMPARISON in guards and found.outcome is not Outcome.PASSED:
        raise Fault(Outcome.INCORRECT, f"{found.detail} ({case.name}, while it was timed)")


@contextmanager
def _one_thread() -> Iterator[None]:
    """Limit torch to one thread in the judge, because idle threads of the judge would slow the workers."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)

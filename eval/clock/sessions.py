"""Time a candidate against the fastest baseline, in sessions by the judge's clock."""

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import geometric_mean, median
from typing import NamedTuple

import torch

from eval.clock.baselines import WORKER_FAILURES, Baselines
from eval.clock.batched_timing import BatchedTiming, time_batches
from eval.clock.candidate_workers import CandidateWorkers
from eval.clock.rounds import RoundTimes, time_rounds
from eval.clock.timed_worker import RECORDED_US, SHORT_US, TimedWorker
from eval.clock.timing import (
    UNSEEN,
    UNSEEN_OF_REPLAYS,
    clocks_disagree,
    hidden_us,
    median_us,
    session_of,
    works_between,
)
from eval.machine import CpuUse
from eval.oracle.cases import Case, numbers_of
from eval.supervisor.device_memory import Unrest
from eval.supervisor.settings import Guard
from eval.supervisor.trial import Trial
from eval.worker.fault import Fault
from kb.errors import JudgeError
from kb.types.evidence import Outcome
from kb.types.kernels import Workload
from kb.types.timing import LEAST_OF_WORKLOADS, MOST_OTHERS, WIN_MARGIN, WIN_SESSIONS, GpuState, Session, Timing

MOST_SESSIONS = 12
SMALL_GAIN = math.log(1.2)
"""A win by less must be more than what the fastest baseline gains in the candidate's place. Where a process lies in
memory is no luck: on an H200 the reference of SELU, 6 GB to read and as many to write, was 1.06 times as fast there in
each of six sessions (judge-h200.json)."""
ATTEMPTS, PAUSE_S = 4, 2.0
"""Sessions that are tried until other work does not disturb one, and the pause between them."""


class SessionPolicy(NamedTuple):
    """How long candidates are timed on a device. Two processes of the same program differ in speed, by luck."""

    session_s: float
    """A session ends after this time if it has enough rounds; then batches are timed for as long."""
    process_spread: float
    """By how much processes of the same program differ within a session, as the logarithm of the speed-up."""
    slow_process: float
    """By how much, likewise, a candidate may lose because its process is a slow one: then it gets a second session."""


POLICIES = {"cpu": SessionPolicy(0.75, 0.1, 0.1), "cuda": SessionPolicy(0.4, 0.03, 0.2)}
"""By where torch keeps the tensors. Processes on a GPU differ by less, but of 210 on an H100 17 were slower than others
with the same kernel, for as long as they lived; four of them by a quarter or more (process-luck-h100.json)."""


class _SessionTimes(NamedTuple):
    """What was measured in one session."""

    rounds: RoundTimes
    batches: BatchedTiming
    others: float
    """Share of the CPU time that other work took, and what that was."""
    other_names: tuple[str, ...]
    memory_bytes: int
    baselines_bytes: Mapping[str, int]
    gpu: GpuState | None

    def session(self, baseline: str, place: float = 1.0, least_hidden_us: float = 0.0) -> Session:
        """The session in comparison with one of the baselines, whose gain in the candidate's place is counted out.

        What the candidate hides from the clock in its worker is added to its time. Where batches show a smaller
        speed-up than single calls, its time is stretched to that.

        Args:
            least_hidden_us: What all sessions together show of that; one alone has more chance.
        """
        baseline_calls, honest = self.rounds.baselines[baseline], self.rounds.honest(baseline)
        hidden = max(least_hidden_us, hidden_us(self.rounds.candidate, honest))
        baseline_us = [call.inside_us for call in baseline_calls]
        inside_us = [call.inside_us for call in self.rounds.candidate]
        candidate_us = [place * (us + hidden) for us in inside_us]
        session = session_of(baseline_us, candidate_us, inside_us)
        stretch = session.speedup / self.batches.speedup(baseline)
        if stretch > 1:
            session = session_of(baseline_us, [stretch * us for us in candidate_us], inside_us)
        unseen_us = self.rounds.unseen_us(baseline) / self.batches.size
        memory = {"memory_bytes": self.memory_bytes, "baseline_memory_bytes": self.baselines_bytes[baseline]}
        machine = {"others": self.others, "gpu": self.gpu, **memory}
        return session.model_copy(update={"unseen_us": unseen_us, **machine})


def time_candidate(
    trial: Trial,
    baselines: Baselines,
    cases: Sequence[Case],
    watch: Callable[[], CpuUse] = CpuUse,
    workload: Workload | None = None,
) -> tuple[Timing, str]:
    """Run timing sessions in fresh workers: one, and more while it may still turn out as a win.

    A session that other work disturbs is repeated.

    Args:
        cases: Those of the baselines' reference are tried again between the timed calls: each in one of the sessions
            that a win needs.
        watch: Starts to watch what else the machine does.
        workload: That of the baselines if the task has several, of which the mean decides.

    Returns:
        The times, and in words what kept the machine busy if it stayed so; then the times say nothing.

    Raises:
        Fault: an output is wrong, the clocks disagree, or the worker failed.
    """
    timed = [case for case in cases if case.reference is baselines.reference]
    cases = [case for case in timed if numbers_of(case.inputs) == numbers_of(baselines.case.inputs)]
    random.SystemRandom().shuffle(cases)
    found: list[_SessionTimes] = []
    place = 1.0

    def timing() -> Timing:
        fastest, rounds = _fastest(found), [each.rounds for each in found]
        honest = [call for each in rounds for call in each.honest(fastest)]
        hidden = hidden_us([call for each in rounds for call in each.candidate], honest)
        return Timing(
            baseline=fastest,
            baselines_us=baselines.medians_us,
            sessions=tuple(each.session(fastest, place, hidden) for each in found),
            workload=workload or {},
            place=place,
        )

    with CandidateWorkers(trial, baselines) as workers:
        while not found or _undecided(timing(), POLICIES[baselines.reference.device]):
            own = cases[len(found) % WIN_SESSIONS :: WIN_SESSIONS]
            times, busy = _undisturbed_session(workers, baselines, len(found), own, watch)
            found.append(times)
        workers.finish()
    if timing().won and math.log(timing().speedup) < SMALL_GAIN:
        place, busy = _gain_in_place(baselines, _fastest(found), watch)
    return timing(), busy


def _gain_in_place(baselines: Baselines, name: str, watch: Callable[[], CpuUse]) -> tuple[float, str]:
    """How much faster a baseline is in the candidate's place than in its own, at least 1; and what disturbed that.

    A candidate starts after the baselines, and the later of two processes may be faster. Beside these a baseline may
    need more memory than a candidate does: then the gain is not known, and counts as 1.
    """
    try:
        with CandidateWorkers(baselines.trial(name), baselines) as workers:
            sessions = [_undisturbed_session(workers, baselines, number, [], watch) for number in range(WIN_SESSIONS)]
            workers.finish()
    except (*WORKER_FAILURES, JudgeError) as error:
        return 1.0, f"the baseline could not be tried in the candidate's place: {str(error)[:200]}"
    gain = geometric_mean(times.session(name).speedup for times, _ in sessions)
    return max(gain, 1.0), next((busy for _, busy in sessions if busy), "")


def _undecided(timing: Timing, policy: SessionPolicy) -> bool:
    """Whether more sessions may decide otherwise: it may become a win, or is one that lucky processes may have given.

    The first sessions of all candidates have the same baselines, so the luck of these stays. A win by less than twice
    the spread of processes must hold in twice as many sessions. After one session, a slow process may be all that is
    wrong. One of several workloads need not win: the mean over all has the sessions of all.
    """
    count, gain = len(timing.sessions), math.log(timing.speedup)
    if timing.workload:
        return not timing.busy and count < WIN_SESSIONS and gain + policy.slow_process > math.log(LEAST_OF_WORKLOADS)
    if timing.won:
        return gain < 2 * policy.process_spread and count < 2 * WIN_SESSIONS
    if timing.busy or count >= MOST_SESSIONS:
        return False
    if count < WIN_SESSIONS:
        chance = policy.slow_process if count == 1 else policy.process_spread / math.sqrt(count)
        return gain + chance > math.log(WIN_MARGIN)
    return timing.may_win(MOST_SESSIONS)


def _fastest(found: Sequence[_SessionTimes]) -> str:
    """The baseline that was fastest over all sessions. The fastest in one of them may only have been lucky there."""
    rounds = [times.rounds.baselines for times in found]
    return min(rounds[0], key=lambda name: sum(math.log(median_us(each[name])) for each in rounds))


def _undisturbed_session(
    workers: CandidateWorkers, baselines: Baselines, number: int, cases: Sequence[Case], watch: Callable[[], CpuUse]
) -> tuple[_SessionTimes, str]:
    """A session that nothing disturbed, or the last of several; and what disturbed it.

    Raises:
        Fault: as in `time_candidate`. Clocks must disagree, or a GPU must work at the wrong time, in every session: a
            process may be unlucky with its core, and somebody else may use the GPU.
    """
    disagreement: Fault | None = None
    for attempt in range(ATTEMPTS):
        time.sleep(PAUSE_S * bool(attempt))
        try:
            times = _session(workers, baselines, number, cases, watch)
        except Unrest:
            if attempt < ATTEMPTS - 1:
                continue
            raise
        disagreement = _disagreement(times) if Guard.CLOCKS in workers.trial.guards else None
        if times.others <= MOST_OTHERS and disagreement is None:
            return times, ""
    if disagreement and times.others <= MOST_OTHERS:
        raise disagreement
    return times, f"other work took {times.others:.0%} of the CPU time ({', '.join(times.other_names)}): judge it again"


def _session(
    workers: CandidateWorkers, baselines: Baselines, number: int, cases: Sequence[Case], watch: Callable[[], CpuUse]
) -> _SessionTimes:
    """One session, counted from 0: in a new worker of the candidate, which starts after the baselines."""
    with one_thread():
        baselines.begin(number)
        if number and number % WIN_SESSIONS == 0:
            workers.trial.start_warm_workers(checks=1, sessions=WIN_SESSIONS)
        with workers.for_session(number) as candidate:
            return _session_of(candidate, workers.trial, baselines, cases, watch())


def _session_of(
    candidate: TimedWorker, trial: Trial, baselines: Baselines, cases: Sequence[Case], use: CpuUse
) -> _SessionTimes:
    device, fastest_us = baselines.reference.device, min(baselines.medians_us.values())
    policy, short = POLICIES[device], fastest_us < SHORT_US
    on = fastest_us < RECORDED_US
    replayed = [candidate.capture(on=on), all(baselines.each(lambda worker: worker.capture(on=on)).values())]
    idle_worker = baselines.idle_worker(trial) if short and not all(replayed) else None
    unseen = UNSEEN_OF_REPLAYS if replayed[1] and not idle_worker else UNSEEN[device]
    rounds = time_rounds(candidate, baselines, idle_worker, cases, trial.guards, use, policy.session_s, unseen)
    batches = BatchedTiming()
    if (rounds.is_doubtful or (short and rounds.speedup > 1)) and Guard.BATCHES in trial.guards:
        batches = time_batches(candidate, baselines, trial.guards, policy.session_s)
    others, names = use.by_others()
    candidate_bytes = use.memory_bytes(candidate.worker.pid)
    baselines_bytes = {name: use.memory_bytes(each.worker.pid) for name, each in baselines.workers.items()}
    return _SessionTimes(rounds, batches, others, names, candidate_bytes, baselines_bytes, use.gpu())


def _disagreement(times: _SessionTimes) -> Fault | None:
    """Why the times of a candidate cannot be believed; None if they can.

    Its clock must disagree with the idle worker's and with the fastest baseline's, because either may be lucky with its
    core. What it hides from the idle worker alone is added to its time. Where all workers replay recorded calls, they
    reply alike, and batches show best what a clock hides in each call.
    """
    candidate, baseline = times.rounds.candidate, times.rounds.baselines[times.rounds.fastest]
    honest = times.rounds.honest(times.rounds.fastest)
    outside_us, inside_us, _, between_us, _ = (median(each) for each in zip(*candidate, strict=True))
    disagree = clocks_disagree(candidate, honest) and clocks_disagree(candidate, baseline)
    if disagree or (times.batches.clocks_disagree and not times.rounds.idle):
        detail = f"a call takes {outside_us:.1f} us by the judge's clock, {inside_us:.1f} by the worker's"
        return Fault(Outcome.CLOCKS_DISAGREE, detail)
    if works_between(candidate, baseline):
        detail = f"a timed call takes {outside_us:.1f} us, but the untimed call before it {between_us:.1f}"
        return Fault(Outcome.CLOCKS_DISAGREE, detail)
    return None


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit torch to one thread in the judge, because idle threads of the judge would slow the workers."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)

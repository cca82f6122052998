"""The rounds of a timing session: how many there are, and when the cases are tried between them."""

import random
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from eval.clock import rounds, sessions
from eval.clock.baseline_sources import EAGER
from eval.clock.baselines import Baselines
from eval.clock.batched_timing import BatchedTiming
from eval.clock.candidate_workers import CandidateWorkers
from eval.clock.timed_worker import Reply, TimedWorker
from eval.clock.timing import CallTime
from eval.machine import CpuUse
from eval.oracle.cases import Case, draw_cases, numbers_of
from eval.oracle.values import learn_structures
from eval.supervisor.device_memory import Unrest
from eval.supervisor.settings import ALL_GUARDS
from eval.supervisor.trial import Trial
from eval.worker.fault import Fault
from kb.types.evidence import Outcome
from tests.eval.judging import baselines, given_case, needs_linux, reference

pytestmark = needs_linux
CASE = given_case("scale")


class Clocked:
    """The baselines of a session of which each round takes some seconds by a clock of its own."""

    workers = (EAGER,)

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, *, round_s: float, slower: float = 1.0, scatter: float = 0.0
    ) -> None:
        self.reference, self.case = reference("scale"), CASE
        self.now_s, self.rounds = 0.0, 0
        self.tried: list[tuple[int, str]] = []

        def a_round(*_: object, **__: object) -> tuple[Reply, dict[str, Reply]]:
            self.now_s += round_s
            self.rounds += 1
            us = 100.0 * (1 + scatter * (-1) ** self.rounds)
            candidate, baseline = (CallTime(outside_us=each, inside_us=each) for each in (slower * us, us))
            return Reply(candidate, list(CASE.expected)), {EAGER: Reply(baseline, list(CASE.expected))}

        def try_case(_candidate: object, _baselines: object, case: Case, *_: object, **__: object) -> None:
            self.tried.append((self.rounds, case.name))

        monkeypatch.setattr(rounds.time, "monotonic", lambda: self.now_s)
        monkeypatch.setattr(rounds, "_round", a_round)
        monkeypatch.setattr(rounds, "_try_case", try_case)

    def run(self) -> int:
        """The number of rounds."""
        candidate, baselines = cast(TimedWorker, None), cast(Baselines, self)
        times = rounds.time_rounds(candidate, baselines, None, [CASE], ALL_GUARDS, CpuUse(), session_s=0.75)
        assert len(times.candidate) == len(times.baselines[EAGER])
        return len(times.candidate)


@pytest.mark.parametrize(
    ("round_s", "scatter", "least", "most"),
    [
        pytest.param(1e-4, 0.1, rounds.MOST_ROUNDS, rounds.MOST_ROUNDS, id="quick"),
        pytest.param(0.02, 0.1, 37, 39, id="as long as a session should last"),
        pytest.param(0.06, 0.1, rounds.ENOUGH_ROUNDS, rounds.ENOUGH_ROUNDS, id="longer, for enough rounds"),
        pytest.param(0.06, 0.01, 13, 14, id="longer, of times that hardly differ"),
        pytest.param(30.0, 0.1, rounds.LEAST_ROUNDS, rounds.LEAST_ROUNDS, id="slow"),
    ],
)
def test_a_session_has_enough_rounds_and_ends_in_time(
    round_s: float, scatter: float, least: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert least <= Clocked(monkeypatch, round_s=round_s, scatter=scatter).run() <= most


def test_the_session_of_a_much_slower_candidate_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Clocked(monkeypatch, round_s=30.0, slower=5.0).run() == rounds.HOPELESS_ROUNDS
    assert Clocked(monkeypatch, round_s=1.0, slower=5.0).run() == rounds.LEAST_ROUNDS


def test_a_candidate_that_has_lost_needs_few_rounds_and_still_all_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Clocked(monkeypatch, round_s=0.1, slower=1.6, scatter=0.1)

    assert session.run() == rounds.LEAST_ROUNDS
    assert len(session.tried) == 1
    assert Clocked(monkeypatch, round_s=0.1, slower=1.4, scatter=0.1).run() == rounds.ENOUGH_ROUNDS


@pytest.mark.parametrize(("round_s", "count"), [(0.001, 200), (0.06, 30), (30.0, 10)])
def test_cases_are_tried_in_all_parts_of_a_session(round_s: float, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = [(share / 10, CASE) for share in reversed(range(10))]
    monkeypatch.setattr(rounds, "_moments", lambda cases: list(moments))
    session = Clocked(monkeypatch, round_s=round_s, scatter=0.1)

    session.run()

    assert [after for after, _ in session.tried] == [share * count // 10 for share in range(10)]


def test_each_case_is_tried_at_a_moment_that_cannot_be_foreseen() -> None:
    cases = cast(list[Case], list(range(50)))

    first, second = rounds._moments(cases), rounds._moments(cases)

    assert [moment for moment, _ in first] == sorted((moment for moment, _ in first), reverse=True)
    assert {case for _, case in first} == set(cases)
    assert [case for _, case in first] != [case for _, case in second]


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_gpu_that_works_at_the_wrong_time_refuses_nobody_unless_it_does_so_beside_every_fresh_process(
    times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = iter([Unrest(Outcome.FORBIDDEN, "busy")] * times)
    quiet = SimpleNamespace(others=0.0)

    def session(*_: object) -> SimpleNamespace:
        if fault := next(seen, None):
            raise fault
        return quiet

    monkeypatch.setattr(sessions, "PAUSE_S", 0)
    monkeypatch.setattr(sessions, "_session", session)
    monkeypatch.setattr(sessions, "_disagreement", lambda _: None)
    workers = cast(CandidateWorkers, SimpleNamespace(trial=SimpleNamespace(guards=ALL_GUARDS)))

    with nullcontext() if times < sessions.ATTEMPTS else pytest.raises(Unrest):
        assert sessions._undisturbed_session(workers, cast(Baselines, None), 0, [], CpuUse)[0] is quiet


@pytest.mark.parametrize(
    ("candidate_us", "in_place_us", "place", "won"),
    [(90.0, 100.0, 1.0, True), (90.0, 92.0, 1.087, False), (90.0, 110.0, 1.0, True), (50.0, 92.0, 1.0, True)],
    ids=["the places are equal", "its place is faster", "its place is slower", "it wins by far"],
)
def test_a_small_win_is_more_than_what_the_baseline_gains_in_the_candidates_place(
    candidate_us: float, in_place_us: float, place: float, won: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = SimpleNamespace(
        reference=reference("scale"),
        case=CASE,
        medians_us={EAGER: 100.0},
        trial=lambda name: SimpleNamespace(us=in_place_us),
    )

    def a_session(workers: CandidateWorkers, *_: object) -> tuple[sessions._SessionTimes, str]:
        candidate, baseline = ([CallTime(us, us)] * 9 for us in (cast(SimpleNamespace, workers.trial).us, 100.0))
        times = rounds.RoundTimes(candidate, {EAGER: baseline}, [])
        return sessions._SessionTimes(times, BatchedTiming(), 0.0, (), 0, {EAGER: 0}, None), ""

    monkeypatch.setattr(sessions, "_undisturbed_session", a_session)
    timing, _ = sessions.time_candidate(cast(Trial, SimpleNamespace(us=candidate_us)), cast(Baselines, running), [CASE])

    assert timing.place == pytest.approx(place, abs=0.001)
    assert timing.candidate_us == pytest.approx(candidate_us * place, rel=0.001)
    assert timing.won is won


def test_a_small_win_stands_with_a_word_where_the_baseline_does_not_fit_in_the_candidates_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running = SimpleNamespace(reference=CASE.reference, case=CASE, medians_us={EAGER: 100.0}, trial=lambda name: None)

    def a_session(workers: CandidateWorkers, *_: object) -> tuple[sessions._SessionTimes, str]:
        if workers.trial is None:
            raise Fault(Outcome.CRASHED, "it leaves too little memory")
        times = rounds.RoundTimes([CallTime(90.0, 90.0)] * 9, {EAGER: [CallTime(100.0, 100.0)] * 9}, [])
        return sessions._SessionTimes(times, BatchedTiming(), 0.0, (), 0, {EAGER: 0}, None), ""

    monkeypatch.setattr(sessions, "_undisturbed_session", a_session)
    timing, note = sessions.time_candidate(cast(Trial, SimpleNamespace()), cast(Baselines, running), [CASE])

    assert timing.won
    assert "too little memory" in note


def test_the_sessions_of_a_win_try_each_case_once(monkeypatch: pytest.MonkeyPatch) -> None:
    running = SimpleNamespace(reference=CASE.reference, case=CASE, medians_us={EAGER: 100.0})
    cases = [replace(CASE, name=f"case {number}") for number in range(7)]
    tried = list[Case]()

    def a_session(workers: object, baselines: object, number: int, own: Sequence[Case], _: object) -> object:
        tried.extend(own)
        times = rounds.RoundTimes([CallTime(50.0, 50.0)] * 9, {EAGER: [CallTime(100.0, 100.0)] * 9}, [])
        return sessions._SessionTimes(times, BatchedTiming(), 0.0, (), 0, {EAGER: 0}, None), ""

    monkeypatch.setattr(sessions, "_undisturbed_session", a_session)
    timing, _ = sessions.time_candidate(cast(Trial, SimpleNamespace()), cast(Baselines, running), cases)

    assert timing.won
    assert sorted(case.name for case in tried) == [case.name for case in cases]


def wins(speedup: float, monkeypatch: pytest.MonkeyPatch) -> int:
    """Of twenty verdicts on a GPU whose processes differ by 2 %, calls by 3 %, and a process in twelve is slow."""
    chance = random.Random(0)
    running = SimpleNamespace(reference=SimpleNamespace(device="cuda"), medians_us={EAGER: 300.0})

    def calls(us: float) -> list[CallTime]:
        us *= chance.lognormvariate(0, 0.02) * (1.2 if chance.random() < 1 / 12 else 1.0)
        inside_us = [us * chance.lognormvariate(0, 0.03) for _ in range(rounds.ENOUGH_ROUNDS // 2)]
        return [CallTime(each + chance.gauss(300, 10), each) for each in inside_us]

    def a_session(*_: object) -> tuple[sessions._SessionTimes, str]:
        times = rounds.RoundTimes(calls(300 / speedup), {EAGER: calls(300)}, [])
        return sessions._SessionTimes(times, BatchedTiming(), 0.0, (), 0, {EAGER: 0}, None), ""

    monkeypatch.setattr(sessions, "_undisturbed_session", a_session)
    monkeypatch.setattr(sessions, "_gain_in_place", lambda *_: (1.0, ""))
    verdicts = (sessions.time_candidate(cast(Trial, None), cast(Baselines, running), [])[0] for _ in range(20))
    return sum(timing.won for timing in verdicts)


def test_few_rounds_on_a_gpu_let_no_kernel_win_over_itself_and_a_faster_one_win(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert wins(1.0, monkeypatch) == 0
    assert wins(1.2, monkeypatch) > 15


def test_cases_with_another_number_as_an_argument_are_not_tried_while_a_candidate_is_timed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running, tried = baselines("scaled_by"), list[Case]()
    monkeypatch.setattr(sessions, "MOST_OTHERS", 9.0)
    monkeypatch.setattr(sessions, "time_rounds", lambda *args: tried.extend(args[3]) or rounds.time_rounds(*args))
    own = list(draw_cases(running.reference, learn_structures(running.reference)))
    assert any(numbers_of(case.inputs) != numbers_of(running.case.inputs) for case in own)

    timing, _ = sessions.time_candidate(running.trial(EAGER), running, own)

    assert timing.sessions
    assert tried
    assert all(numbers_of(case.inputs) == numbers_of(running.case.inputs) for case in tried)

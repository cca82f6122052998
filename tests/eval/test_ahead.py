"""One run is judged on several cards at the same time; a card that fails its canary costs no verdict."""

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from eval.pool.ahead import JudgesOnCards
from eval.pool.cards import Card, of_one_kind
from kb.errors import BatchError, CanaryError, JudgeError, TaskError
from kb.types.evidence import Estimate, Evidence, Outcome
from kb.types.kernels import Candidate
from kb.types.protocols import Judge, JudgesAhead
from kb.types.target import CPU, Isa
from tests.eval.batches import FAST, H100, MIXED, SLOW, FakeJudge, kernel
from tests.runs.fakes import TASK

Start = Callable[[Mapping[str, str]], AbstractContextManager[Judge]]
HERE = [Card(name, gpu.isa, gpu.kind) for name, gpu in MIXED.items()]
TWO = HERE[:2]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    monkeypatch.setattr(FakeJudge, "log", tmp_path / "log", raising=False)
    monkeypatch.setattr(FakeJudge, "broken", {})
    return lambda environment: FakeJudge(TASK, target="h100", environment=environment)


def lines(tmp_path: Path) -> list[str]:
    return (tmp_path / "log").read_text().splitlines()


def fresh() -> list[Card]:
    return [Card(card.name, card.isa, card.kind) for card in TWO]


def test_what_is_expected_is_judged_on_all_cards_at_the_same_time_and_once(tmp_path: Path, start: Start) -> None:
    at_once = threading.Barrier(2, timeout=10)

    class Waiting(FakeJudge):
        def verify(self, candidate: Candidate) -> Evidence:
            at_once.wait()
            return super().verify(candidate)

        def estimate(self, candidate: Candidate) -> Estimate:
            at_once.wait()
            return Estimate(time_us=5.0)

    def waiting(environment: Mapping[str, str]) -> Waiting:
        return Waiting(TASK, target="h100", environment=environment)

    with JudgesOnCards(waiting, fresh(), print) as judges:
        assert isinstance(judges, JudgesAhead)
        for name in ("a", "wrong"):
            judges.expect(kernel(name))
            judges.expect(kernel(name))
        assert [judges.verify(kernel(name)).outcome for name in ("wrong", "a")] == [Outcome.INCORRECT, Outcome.PASSED]
        for name in ("a", "b"):
            judges.expect(kernel(name), estimate=True)
        quick = [judges.estimate(kernel(name)) for name in ("a", "b")]
        assert [one.time_us for one in quick] == [5.0, 5.0]
        assert all(one.took_s > 0.0 for one in quick), "the time that they waited for a card is none of the judge's"

    seen = [line.split() for line in lines(tmp_path) if "row-sum" not in line]
    assert sorted(what for _, what in seen) == ["a", "wrong"]
    assert {device for device, _ in seen} == {"one", "two"}


def test_a_card_that_fails_its_canary_is_taken_out_and_another_judges_its_candidate(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeJudge, "pause_s", 0.05)
    FakeJudge.broken["one"] = 0
    told = list[str]()
    with JudgesOnCards(start, fresh(), told.append) as judges:
        for number in range(3):
            judges.expect(kernel(f"k{number}"))
        assert all(judges.verify(kernel(f"k{number}")).passed for number in range(3))

    assert told == [f"one ({FAST}) is taken out: the clock stands still"]
    assert {f"two k{number}" for number in range(3)} <= {*lines(tmp_path)}
    assert len(lines(tmp_path)) == 2 + 3 + 1, "two judges start, and one candidate is tried twice"


def test_without_a_sound_card_whoever_waits_gets_the_failure_of_the_last(start: Start) -> None:
    FakeJudge.broken.update(one=0, two=0)
    with JudgesOnCards(start, fresh(), lambda line: None) as judges:
        for name in ("a", "b"):
            judges.expect(kernel(name))
        for name in ("a", "b", "c"):
            with pytest.raises(CanaryError, match="the clock stands still"):
                judges.verify(kernel(name))


def test_a_judge_that_dies_of_one_candidate_is_started_again_for_the_others(tmp_path: Path, start: Start) -> None:
    with JudgesOnCards(start, fresh()[:1], print) as judges:
        judges.expect(kernel("kills"))
        assert judges.verify(kernel("a")).passed
        with pytest.raises(JudgeError, match="the judge died"):
            judges.verify(kernel("kills"))
    assert [line for line in lines(tmp_path) if "row-sum" in line] == ["one row-sum"] * 2


def test_a_task_that_fails_on_all_cards_is_one_error() -> None:
    def fails(environment: Mapping[str, str]) -> FakeJudge:
        raise TaskError("the reference fails", hint="")

    with pytest.raises(TaskError, match="the reference fails"):
        JudgesOnCards(fails, fresh(), lambda line: None)


@pytest.mark.parametrize(
    ("known", "kind", "names"), [("", FAST, ["one", "two"]), (FAST, FAST, ["one", "two"]), (SLOW, SLOW, ["three"])]
)
def test_one_kind_of_card_judges_a_run(known: str, kind: str, names: list[str]) -> None:
    cpu = Card(CPU, Isa(CPU, "x86_64"), "a machine")
    found = of_one_kind([cpu, *HERE], Isa("cuda", "90", 32), "h100", known)
    assert [(card.name, card.kind) for card in found] == [(name, kind) for name in names]


@pytest.mark.parametrize(
    ("isa", "known", "why"),
    [
        (H100, SLOW, f"there is no {SLOW}, which timed this run"),
        (Isa("hip", "gfx942", 64), "", r"of one \(NVIDIA H100, 700 W\), .* there is no mi300x"),
    ],
)
def test_no_other_kind_of_card_judges(isa: Isa, known: str, why: str) -> None:
    with pytest.raises(BatchError, match=why):
        of_one_kind(TWO, isa, "mi300x", known)


def test_an_interrupt_before_the_first_judge_has_started_leaves_no_judge(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_start, ended = threading.Event(), threading.Semaphore(0)

    class Slow(FakeJudge):
        def __exit__(self, *error: object) -> None:
            ended.release()

    def slow(environment: Mapping[str, str]) -> Slow:
        may_start.wait(10)
        return Slow(TASK, target="h100", environment=environment)

    def interrupted(future: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("eval.pool.ahead.Future.result", interrupted)
    with pytest.raises(KeyboardInterrupt):
        JudgesOnCards(slow, fresh(), print)
    may_start.set()
    assert all(ended.acquire(timeout=10) for _ in TWO)

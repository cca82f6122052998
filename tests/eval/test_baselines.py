"""Baselines: one that could not start beside a candidate is not left out, and no two sessions share processes."""

import os
import signal
from collections.abc import Iterator
from functools import partial

import pytest
import torch  # noqa: TID253 - what is tested computes with it

from eval.clock.baseline_settings import settings
from eval.clock.baselines import EAGER, SOURCES, Baselines
from eval.clock.timed_worker import TimedWorker
from eval.fault import Fault
from eval.languages.registry import TORCH
from eval.machine import sandbox_level
from eval.supervisor.trial import Trial
from kb.errors import JudgeError
from kb.types.evidence import Outcome
from tests.eval.judging import PATIENCE_S, needs_linux, reference, task

SLOW = """
class ModelNew(Model):
    def forward(self, *inputs):
        __import__("time").sleep(0.01)
        return super().forward(*inputs)
"""
pytestmark = needs_linux


@pytest.mark.parametrize(("outcome", "runs"), [(Outcome.FORBIDDEN, True), (Outcome.RAISED, False)])
def test_a_baseline_that_a_candidate_disturbed_is_started_again(
    outcome: Outcome, runs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, failures = TimedWorker.__enter__, [Fault(outcome, "the disk is full")]

    def disturbed(side: TimedWorker) -> TimedWorker:
        if "# other" in side._trial.candidate.source and failures:
            raise failures.pop()
        return start(side)

    monkeypatch.setattr(TimedWorker, "__enter__", disturbed)
    sources = {EAGER: SOURCES[EAGER], "other": "ModelNew = Model  # other"}
    trial_of = partial(Trial, language=TORCH, level=sandbox_level(), call_s=PATIENCE_S, **settings())

    found = Baselines(task("scale"), reference("scale"), sources, trial_of)
    try:
        assert found.sides
        assert set(found.medians_us) == ({EAGER, "other"} if runs else {EAGER})
    finally:
        found.close()


def test_no_two_sessions_share_a_process_and_the_first_sets_stay_for_the_next_candidate() -> None:
    trial_of = partial(Trial, language=TORCH, level=sandbox_level(), call_s=PATIENCE_S, **settings())
    found = Baselines(task("scale"), reference("scale"), {EAGER: SOURCES[EAGER]}, trial_of, kept=2)

    def workers() -> list[object]:
        used = []
        for session in range(3):
            found.begin(session)
            used.append(found.sides[EAGER].worker)
            assert found.timed(found.case.inputs)
        return used

    try:
        first, second = workers(), workers()
    finally:
        found.close()
    assert len(set(map(id, first))) == 3
    assert [mine is theirs for mine, theirs in zip(first, second, strict=True)] == [False, True, False]


def test_all_sets_that_a_close_candidate_will_want_start_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    start, started = TimedWorker.__enter__, []

    def counted(side: TimedWorker) -> TimedWorker:
        started.append(side)
        return start(side)

    monkeypatch.setattr(TimedWorker, "__enter__", counted)
    trial_of = partial(Trial, language=TORCH, level=sandbox_level(), call_s=PATIENCE_S, **settings())
    found = Baselines(task("scale"), reference("scale"), {EAGER: SOURCES[EAGER]}, trial_of, kept=3)
    counts = []
    try:
        for session in range(3):
            found.begin(session)
            counts.append(len(started))
    finally:
        found.close()
    assert [count - counts[0] for count in counts] == [0, 2, 2]


@pytest.fixture
def kept() -> Iterator[Baselines]:
    """A baseline of which a set stays for the next candidates; its task has parameters."""
    trial_of = partial(Trial, language=TORCH, level=sandbox_level(), call_s=PATIENCE_S, **settings())
    found = Baselines(task("linear"), reference("linear"), {EAGER: SOURCES[EAGER]}, trial_of)
    found.begin(0)
    yield found
    found.close()


def test_a_baseline_that_died_is_started_again_for_the_next_candidate(kept: Baselines) -> None:
    dead = kept.sides[EAGER].worker
    os.kill(dead.pid, signal.SIGKILL)
    for each in (lambda: kept.timed(kept.case.inputs), lambda: kept.together([kept.case.inputs])):
        with pytest.raises(JudgeError, match=r"a worker of the judge itself fails: .*SIGKILL"):
            each()

    kept.begin(0)

    assert kept.sides[EAGER].worker is not dead
    assert kept.timed(kept.case.inputs)


def test_a_set_that_failed_to_start_is_started_again(kept: Baselines, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(TimedWorker, "__enter__", lambda _: (_ for _ in ()).throw(Fault(Outcome.RAISED, "no memory")))
        with pytest.raises(JudgeError, match="no memory"):
            kept.begin(1)

    kept.begin(0)

    assert kept.timed(kept.case.inputs)


def test_a_start_that_failed_for_want_of_anything_is_renewed_for_the_next_candidate(
    kept: Baselines, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error in (JudgeError("a worker does not start", hint="wait"), OSError(28, "no space"), MemoryError()):
        with monkeypatch.context() as patched:
            patched.setattr(TimedWorker, "__enter__", lambda _, error=error: (_ for _ in ()).throw(error))
            with pytest.raises(type(error)):
                kept.begin(1)

        kept.begin(0)
        assert kept.timed(kept.case.inputs)


def test_no_candidate_is_compared_with_a_set_that_began_beside_another() -> None:
    trial_of = partial(Trial, language=TORCH, level=sandbox_level(), call_s=PATIENCE_S, **settings())
    found = Baselines(task("scale"), reference("scale"), {EAGER: SOURCES[EAGER]}, trial_of, kept=2)
    try:
        found.begin(0)
        clean = found.sides[EAGER].worker
        found.start_beside([2, 3])
        beside = []
        for session in (2, 3):
            found.begin(session, beside=True)
            beside.append(found.sides[EAGER].worker)
            assert found.timed(found.case.inputs)
        assert beside[0] is not beside[1]

        found.begin(0)

        assert found.sides[EAGER].worker is clean
        assert not any(worker is clean or worker.lives for worker in beside)
    finally:
        found.close()


def test_of_large_inputs_there_are_no_two_sets_at_once(kept: Baselines) -> None:
    clean = kept.sides[EAGER].worker

    kept.start_beside([3])
    kept.begin(3, beside=True)

    assert not clean.lives
    kept.begin(0)
    assert kept.timed(kept.case.inputs)


def test_sides_that_start_at_once_leave_each_other_s_parameters_and_inputs(kept: Baselines) -> None:
    eager, state = kept._trials[EAGER], list(kept.reference.state.values())
    assert state

    with TimedWorker(eager, kept.reference, kept.case, kept.memory) as mine:
        parameters = eager.memory.share(mine.worker, [state])
        assert mine._shared.unchanged(0, kept.case.inputs)
        with TimedWorker(eager, kept.reference, kept.case, kept.memory):
            assert parameters.unchanged(0, state)


def test_a_baseline_that_lost_the_race_ends() -> None:
    trial_of = partial(Trial, language=TORCH, level=sandbox_level(), call_s=PATIENCE_S, **settings())
    sources = {EAGER: SOURCES[EAGER], "slow": SLOW}
    found = Baselines(task("scale"), reference("scale"), sources, trial_of)
    try:
        worker = found._starting[0]["slow"].result().worker
        assert set(found.sides) == {EAGER}
        assert set(found.medians_us) == {EAGER, "slow"}
        assert not worker.lives
    finally:
        found.close()


def test_where_each_baseline_has_copies_of_large_inputs_a_slow_one_ends_before_the_next_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start, started, living = TimedWorker.__enter__, [], []

    def counted(side: TimedWorker) -> TimedWorker:
        if type(side) is TimedWorker:  # not the canaries
            living.append(sum(earlier.worker.lives for earlier in started))
            started.append(side)
        return start(side)

    monkeypatch.setattr(TimedWorker, "__enter__", counted)
    monkeypatch.setattr("eval.clock.baselines.common_memory", lambda *_: None)  # as on a GPU
    trial_of = partial(Trial, language=TORCH, level=sandbox_level(), call_s=PATIENCE_S, **settings())
    sources = {EAGER: SOURCES[EAGER], "slow": SLOW, "other": "ModelNew = Model  # other"}
    found = Baselines(task("scale"), reference("scale"), sources, trial_of, kept_bytes=0)
    try:
        assert "slow" not in found.sides
        assert set(found.medians_us) == set(sources)
    finally:
        found.close()
    assert living == [0, 1, 1]


def test_no_side_leaves_new_inputs_in_the_memory_that_the_next_one_sees(kept: Baselines) -> None:
    new = kept.reference.inputs(7)
    mine = TimedWorker(kept._trials[EAGER], kept.reference, kept.case, kept.memory)

    with mine:
        kept.timed(new)
        kept.together([new] * mine.slots)

        seen = [place[0] for place in mine._shared.sets]
        assert len(seen) == mine.slots
        assert all(torch.equal(x, kept.case.inputs[0]) for x in seen)
        assert not torch.equal(new[0], kept.case.inputs[0])


def test_sides_with_one_memory_have_the_same_pages(kept: Baselines) -> None:
    with TimedWorker(kept._trials[EAGER], kept.reference, kept.case, kept.memory) as mine:
        mine._shared.sets[0][0].fill_(3.0)

        assert bool((kept.sides[EAGER]._shared.sets[0][0] == 3.0).all())

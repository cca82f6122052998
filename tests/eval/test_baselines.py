"""Baselines: one that could not start beside a candidate is not left out, and no two sessions share processes."""

import fcntl
import os
import platform
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from functools import partial
from io import FileIO
from pathlib import Path
from threading import Event

import pytest
import torch  # noqa: TID253 - what is tested computes with it

from eval.clock.baseline_sources import COMPILED, EAGER, IN_TF32, SOURCES, TF32, worker_settings
from eval.clock.baselines import Baselines
from eval.clock.timed_worker import TimedWorker
from eval.devices.cpu import Cpu
from eval.devices.device import Setup
from eval.languages.registry import TORCH
from eval.machine import sandbox_level
from eval.oracle.reference import Reference, interface_of
from eval.pool import turns
from eval.pool.starts import STARTS
from eval.supervisor.settings import WorkerSettings
from eval.supervisor.trial import Trial
from eval.worker.fault import Fault
from kb.errors import JudgeError
from kb.types.evidence import Outcome
from kb.types.kernels import Candidate
from kb.types.target import Isa
from tests.eval.judging import PATIENCE_S, needs_linux, reference, task

SLOW = """
class ModelNew(Model):
    def forward(self, *inputs):
        __import__("time").sleep(0.01)
        return super().forward(*inputs)
"""
pytestmark = needs_linux


@pytest.mark.parametrize(
    ("name", "outcome", "runs"),
    [
        ("other", Outcome.FORBIDDEN, True),
        ("other", Outcome.TIMED_OUT, False),
        (COMPILED, Outcome.TIMED_OUT, True),
        (COMPILED, Outcome.RAISED, False),
    ],
)
def test_a_baseline_that_a_candidate_disturbed_is_started_again(
    name: str, outcome: Outcome, runs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, failures = TimedWorker.__enter__, [Fault(outcome, "the disk is full")]

    def disturbed(worker: TimedWorker) -> TimedWorker:
        if "# other" in worker._trial.candidate.source and failures:
            raise failures.pop()
        return start(worker)

    monkeypatch.setattr(TimedWorker, "__enter__", disturbed)
    sources = {EAGER: SOURCES[EAGER], name: "ModelNew = Model  # other"}
    trial_of = partial(Trial, language=TORCH, level=sandbox_level(), call_s=PATIENCE_S, **worker_settings())

    found = Baselines(task("scale"), reference("scale"), sources, trial_of)
    try:
        assert found.workers
        assert set(found.medians_us) == ({EAGER, name} if runs else {EAGER})
    finally:
        found.close()


@pytest.mark.parametrize(("factor", "at_small_sizes"), [(1.0, False), (1.01, False), (1.01, True)])
def test_no_baseline_in_tf32_starts_where_the_reference_itself_would_be_wrong_in_it(
    factor: float, at_small_sizes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    native = Reference.native

    def changed(self: Reference, inputs: list[object], *, all_in_tf32: bool = False) -> tuple[torch.Tensor, ...]:
        differs = all_in_tf32 and bool(self.sizes) >= at_small_sizes
        return tuple(factor * x for x in native(self, inputs)) if differs else native(self, inputs)

    monkeypatch.setattr(Reference, "native", changed)
    trial_of = partial(Trial, language=TORCH, level=sandbox_level(), call_s=PATIENCE_S, **worker_settings())
    in_tf32 = EAGER + IN_TF32
    sources = {EAGER: SOURCES[EAGER], in_tf32: TF32 + SOURCES[EAGER]}
    found = Baselines(task("scale"), reference("scale"), sources, trial_of)
    try:
        assert found.workers
        assert (in_tf32 in found.medians_us) is (factor == 1.0)
        assert any(note.startswith("no baseline in TF32: ") for note in found.notes) is (factor != 1.0)
    finally:
        found.close()


def test_no_two_sessions_share_a_process_and_the_last_sets_stay_for_the_next_candidate() -> None:
    trial_of = partial(Trial, language=TORCH, level=sandbox_level(), call_s=PATIENCE_S, **worker_settings())
    found = Baselines(task("scale"), reference("scale"), {EAGER: SOURCES[EAGER]}, trial_of, room=lambda _: 3)

    def workers() -> list[object]:
        used = []
        for session in range(4):
            found.begin(session)
            used.append(found.workers[EAGER].worker)
            assert found.each(lambda worker: worker.time_call(found.case.inputs))
        return used

    try:
        first, second = workers(), workers()
    finally:
        found.close()
    assert [len(set(map(id, each))) for each in (first, second)] == [4, 4]
    assert second[0] is first[3]


def test_all_sets_that_a_close_candidate_will_want_start_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    start, started = TimedWorker.__enter__, []

    def counted(worker: TimedWorker) -> TimedWorker:
        started.append(worker)
        return start(worker)

    monkeypatch.setattr(TimedWorker, "__enter__", counted)
    trial_of = partial(Trial, language=TORCH, level=sandbox_level(), call_s=PATIENCE_S, **worker_settings())
    found = Baselines(task("scale"), reference("scale"), {EAGER: SOURCES[EAGER]}, trial_of, room=lambda _: 3)
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
    trial_of = partial(Trial, language=TORCH, level=sandbox_level(), call_s=PATIENCE_S, **worker_settings())
    found = Baselines(task("linear"), reference("linear"), {EAGER: SOURCES[EAGER]}, trial_of)
    found.begin(0)
    yield found
    found.close()


def test_a_baseline_that_died_is_started_again_for_the_next_candidate(kept: Baselines) -> None:
    dead = kept.workers[EAGER].worker
    os.kill(dead.pid, signal.SIGKILL)
    for each in (
        lambda: kept.each(lambda worker: worker.time_call(kept.case.inputs)),
        lambda: kept.each(lambda worker: worker.time_batch([kept.case.inputs])),
    ):
        with pytest.raises(JudgeError, match=r"a worker of the judge itself fails: .*SIGKILL"):
            each()

    kept.begin(0)

    assert kept.workers[EAGER].worker is not dead
    assert kept.each(lambda worker: worker.time_call(kept.case.inputs))


def test_a_set_that_failed_to_start_is_started_again(kept: Baselines, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(TimedWorker, "__enter__", lambda _: (_ for _ in ()).throw(Fault(Outcome.RAISED, "no memory")))
        with pytest.raises(JudgeError, match="no memory"):
            kept.begin(1)

    kept.begin(0)

    assert kept.each(lambda worker: worker.time_call(kept.case.inputs))


def test_a_start_that_failed_for_want_of_anything_is_renewed_for_the_next_candidate(
    kept: Baselines, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error in (JudgeError("a worker does not start", hint="wait"), OSError(28, "no space"), MemoryError()):
        with monkeypatch.context() as patched:
            patched.setattr(TimedWorker, "__enter__", lambda _, error=error: (_ for _ in ()).throw(error))
            with pytest.raises(type(error)):
                kept.begin(1)

        kept.begin(0)
        assert kept.each(lambda worker: worker.time_call(kept.case.inputs))


def test_of_large_inputs_there_are_no_two_sets_at_once(kept: Baselines) -> None:
    first = kept.workers[EAGER].worker

    kept.begin(1)

    assert not first.is_alive
    assert kept.each(lambda worker: worker.time_call(kept.case.inputs))


def test_while_sets_start_in_a_turn_another_judge_has_its_own(
    kept: Baselines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, had_turn, deadline = TimedWorker.__enter__, Event(), time.monotonic() + PATIENCE_S
    monkeypatch.setenv(turns.TURNS, str(tmp_path / "turns"))
    turns.join.cache_clear()
    locks = turns.join() or ()

    def other_judge() -> None:
        with FileIO(tmp_path / "turns", "a") as use, FileIO(tmp_path / "turns-starts", "a") as starts:
            fcntl.flock(use, fcntl.LOCK_EX)
            fcntl.flock(starts, fcntl.LOCK_EX)
            had_turn.set()

    def starts_late(worker: TimedWorker) -> TimedWorker:
        while not had_turn.wait(0.05) and time.monotonic() < deadline:
            STARTS.pause_point()
        return start(worker)

    monkeypatch.setattr(TimedWorker, "__enter__", starts_late)
    with ThreadPoolExecutor() as pool, turns.turn():
        pool.submit(other_judge)
        kept.begin(1)
        assert had_turn.is_set()
    turns.join.cache_clear()
    for lock in locks:
        lock.close()


def test_workers_that_start_at_once_leave_each_other_s_parameters_and_inputs(kept: Baselines) -> None:
    eager, state = kept._trials[EAGER], list(kept.reference.state.values())
    assert state

    with TimedWorker(eager, kept.reference, kept.case, kept.memory) as own:
        parameters = eager.memory.share(own.worker, [state])
        assert own._shared.unchanged(0, kept.case.inputs)
        with TimedWorker(eager, kept.reference, kept.case, kept.memory):
            assert parameters.unchanged(0, state)


def test_a_baseline_that_lost_the_race_ends() -> None:
    trial_of = partial(Trial, language=TORCH, level=sandbox_level(), call_s=PATIENCE_S, **worker_settings())
    sources = {EAGER: SOURCES[EAGER], "slow": SLOW}
    found = Baselines(task("scale"), reference("scale"), sources, trial_of)
    try:
        found.start()
        worker = found._kept_sets[0]["slow"].result().worker
        assert set(found.workers) == {EAGER}
        assert set(found.medians_us) == {EAGER, "slow"}
        assert not worker.is_alive
    finally:
        found.close()


def test_where_each_baseline_has_copies_of_large_inputs_a_slow_one_ends_before_the_next_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start, started, living = TimedWorker.__enter__, [], []

    def counted(worker: TimedWorker) -> TimedWorker:
        if type(worker) is TimedWorker:  # not the canaries
            living.append(sum(earlier.worker.is_alive for earlier in started))
            started.append(worker)
        return start(worker)

    monkeypatch.setattr(TimedWorker, "__enter__", counted)
    monkeypatch.setattr("eval.clock.baselines.common_memory", lambda *_: None)  # as on a GPU
    trial_of = partial(Trial, language=TORCH, level=sandbox_level(), call_s=PATIENCE_S, **worker_settings())
    sources = {EAGER: SOURCES[EAGER], "slow": SLOW, "other": "ModelNew = Model  # other"}
    found = Baselines(task("scale"), reference("scale"), sources, trial_of, one_by_one=True)
    try:
        assert "slow" not in found.workers
        assert set(found.medians_us) == set(sources)
    finally:
        found.close()
    assert living == [0, 1, 1]


def test_no_worker_leaves_new_inputs_in_the_memory_that_the_next_one_sees(kept: Baselines) -> None:
    new = kept.reference.inputs(7)
    own = TimedWorker(kept._trials[EAGER], kept.reference, kept.case, kept.memory)

    with own:
        kept.each(lambda worker: worker.time_call(new))
        kept.each(lambda worker: worker.time_batch([new] * own.slots))

        seen = [inputs[0] for inputs in own._shared.sets]
        assert len(seen) == own.slots
        assert all(torch.equal(x, kept.case.inputs[0]) for x in seen)
        assert not torch.equal(new[0], kept.case.inputs[0])


def test_workers_with_one_memory_have_the_same_pages(kept: Baselines) -> None:
    with TimedWorker(kept._trials[EAGER], kept.reference, kept.case, kept.memory) as own:
        own._shared.sets[0][0].fill_(3.0)

        assert bool((kept.workers[EAGER]._shared.sets[0][0] == 3.0).all())


def test_the_eager_baseline_starts_as_a_candidate_in_torch_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCHDYNAMO_DISABLE", raising=False)
    cpu = Isa("cpu", platform.machine())
    setup = Setup(task("scale"), reference("scale"), interface_of(task("scale")), "this", cpu, (), sandbox_level(), 9.0)
    device = Cpu(setup)
    try:
        own = device.trial(Candidate(language="torch", source=SOURCES[EAGER]), TORCH)
        started = {name: settings_of(trial) for name, trial in device.baselines._trials.items()}
    finally:
        device.close()

    assert started[EAGER] == settings_of(own)
    assert started["torch.compile"] != settings_of(own)


def settings_of(trial: Trial) -> dict[str, object]:
    """What a worker is started with, but for the judge's guards."""
    return {each.name: getattr(trial, each.name) for each in fields(WorkerSettings) if each.name != "guards"}

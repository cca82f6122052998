"""Recorded calls are also timed together, where a candidate hides little of each, and their outputs are compared."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from eval.clock import batched_timing, sessions
from eval.clock.baselines import Baselines
from eval.clock.quick_timing import quick_time_us
from eval.clock.sessions import ATTEMPTS, time_candidate
from eval.clock.timed_worker import TimedWorker
from eval.clock.timing import clocks_disagree
from eval.languages.registry import TORCH
from eval.supervisor.device_memory import DeviceMemory, Unrest
from eval.supervisor.settings import ALL_GUARDS, Guard
from eval.supervisor.trial import Trial
from eval.worker.fault import Fault
from kb.types.evidence import Outcome
from kb.types.kernels import Candidate
from tests.eval import fake_recording_gpu
from tests.eval.fake_gpu import FakeDriver
from tests.eval.judging import needs_linux, reference, task

pytestmark = needs_linux
RECORDING = TORCH.model_copy(update={"adapter": Path(fake_recording_gpu.__file__)})
TAKES = """
import time
import torch

class ModelNew(torch.nn.Module):
    def forward(self, x):
        end = time.perf_counter() + {us}e-6
        y = 2 * x + 1
        while time.perf_counter() < end:
            pass
        return y
"""
HIDES = """
from tests.eval.fake_gpu import HostClock
HONEST = HostClock.time
HostClock.time = lambda clock, run, everywhere: max(1e-5, {share} * HONEST(clock, run, everywhere=everywhere) - {us}e-6)
"""
HIDES_SOME, HIDES_HALF = HIDES.format(share=1.0, us=500), HIDES.format(share=0.5, us=0)
SKIPS = """
from eval.worker.adapters.gpu import GpuCandidate
HONEST = GpuCandidate._replay

def replay(model):
    if len(model._replayed) > 1:
        model._replayed[0].graph.replay()
    else:
        HONEST(model)

GpuCandidate._replay = replay
"""


UNRECORDED = """
import sys
import torch

class ModelNew(torch.nn.Module):
    def forward(self, x):
        frame, y = sys._getframe(), torch.empty_like(x)
        while frame := frame.f_back:
            if frame.f_code.co_name == "replay":
                return y
        return y.copy_(2 * x + 1)
"""
"""As a kernel on CUDA's own default stream: it runs while the call is recorded, and is not in the recording."""


@pytest.fixture
def memory() -> DeviceMemory:
    return DeviceMemory(FakeDriver())  # type: ignore[arg-type]


@pytest.fixture
def trial_of(memory: DeviceMemory) -> Callable[[str], Trial]:
    return lambda source: Trial(
        Candidate(language="torch", source=source), language=RECORDING, level=0, call_s=60.0, memory=memory
    )


@pytest.fixture
def baselines(trial_of: Callable[[str], Trial], monkeypatch: pytest.MonkeyPatch) -> Iterator[Baselines]:
    """Baselines of 800 us, beside a judge that does not see what is hidden."""
    monkeypatch.setattr(sessions, "ATTEMPTS", 1)
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 1)
    monkeypatch.setattr(sessions, "MOST_OTHERS", 1.0)
    monkeypatch.setitem(
        sessions.POLICIES, "cpu", sessions.SessionPolicy(session_s=0.2, process_spread=0.0, slow_process=0.0)
    )
    for module in (sessions, batched_timing):
        monkeypatch.setattr(module, "clocks_disagree", lambda *_: False)
        monkeypatch.setattr(module, "hidden_us", lambda *_: 0.0)
    found = Baselines(
        task("scale"), reference("scale"), {"eager": TAKES.format(us=800)}, lambda tried: trial_of(tried.source)
    )
    yield found
    found.close()


@pytest.mark.alone
@pytest.mark.parametrize(
    ("source", "guards", "low", "high"),
    [
        pytest.param(TAKES.format(us=800) + HIDES_SOME, ALL_GUARDS - {Guard.BATCHES}, 1.7, 9.0, id="hides, guard off"),
        pytest.param(TAKES.format(us=800) + HIDES_SOME, ALL_GUARDS, 0.5, 1.5, id="hides"),
        pytest.param(TAKES.format(us=200), ALL_GUARDS, 1.5, 9.0, id="is faster"),
    ],
)
def test_what_is_hidden_in_a_question_is_shared_by_many_calls(
    source: str,
    guards: frozenset[Guard],
    low: float,
    high: float,
    trial_of: Callable[[str], Trial],
    baselines: Baselines,
) -> None:
    timing, _ = time_candidate(replace(trial_of(source), guards=guards), baselines, ())

    assert low < timing.speedup < high


def test_a_quick_timing_replays_short_calls_as_sessions_do(
    trial_of: Callable[[str], Trial], baselines: Baselines
) -> None:
    assert 200 <= quick_time_us(trial_of(TAKES.format(us=200)), baselines) < 400


def test_a_kernel_of_which_not_all_is_recorded_is_timed_without_a_recording(
    trial_of: Callable[[str], Trial], baselines: Baselines
) -> None:
    running = baselines.workers
    with TimedWorker(trial_of(UNRECORDED), baselines.reference, baselines.case) as worker:
        assert not worker.capture(on=True)
        assert worker.worker.is_alive
    assert all(baseline.capture(on=True) for baseline in running.values())

    assert time_candidate(trial_of(UNRECORDED), baselines, ())[0].sessions


def test_a_gpu_that_others_use_while_a_replay_is_checked_costs_a_kernel_no_recording(
    trial_of: Callable[[str], Trial], baselines: Baselines, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = iter([True])

    def check_rest(*_: object) -> None:
        if next(busy, False):
            raise Unrest(Outcome.FORBIDDEN, "the GPU worked")

    with TimedWorker(trial_of(TAKES.format(us=200)), baselines.reference, baselines.case) as worker:
        monkeypatch.setattr(DeviceMemory, "check_rest", check_rest)
        assert worker.capture(on=True)


@pytest.mark.parametrize(
    ("does", "outcome"),
    [("x.zero_()", Outcome.MUTATED_INPUT), ("raise RuntimeError", None), ("sys.exit(1)", None)],
    ids=["changes its inputs", "raises", "ends its process"],
)
def test_what_a_replay_does_is_refused_unless_an_incomplete_recording_explains_it(
    does: str, outcome: Outcome | None, trial_of: Callable[[str], Trial], baselines: Baselines
) -> None:
    source = UNRECORDED.replace("return y\n        return", f"{does}\n        return")
    with TimedWorker(trial_of(source), baselines.reference, baselines.case) as worker:
        refused = pytest.raises(Fault) if outcome else nullcontext()
        with refused as found:
            assert not worker.capture(on=True)
            assert worker.worker.is_alive
        assert (found and found.value.outcome) == outcome


def test_calls_that_are_left_out_are_found(trial_of: Callable[[str], Trial], baselines: Baselines) -> None:
    with pytest.raises(Fault) as refusal:
        time_candidate(trial_of(TAKES.format(us=250) + SKIPS), baselines, ())

    assert refusal.value.outcome == Outcome.STALE_OUTPUT


@pytest.mark.alone
def test_what_is_not_seen_in_single_calls_is_seen_in_many(
    trial_of: Callable[[str], Trial], baselines: Baselines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batched_timing, "clocks_disagree", clocks_disagree)
    with pytest.raises(Fault) as refusal:
        time_candidate(trial_of(TAKES.format(us=800) + HIDES_HALF), baselines, ())

    assert refusal.value.outcome == Outcome.CLOCKS_DISAGREE


@pytest.mark.alone
def test_an_honest_clock_is_believed_in_many_calls(
    trial_of: Callable[[str], Trial], baselines: Baselines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batched_timing, "clocks_disagree", clocks_disagree)
    monkeypatch.setattr(sessions, "ATTEMPTS", ATTEMPTS)

    timing, _ = time_candidate(trial_of(TAKES.format(us=400)), baselines, ())

    assert timing.speedup > 1.1

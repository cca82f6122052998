"""Tensors cross between judge and worker by handles, and a worker that lies about them is refused."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest
import torch  # noqa: TID253 - what is tested computes with it

from eval.clock import sessions
from eval.clock.baselines import Baselines
from eval.clock.sessions import time_candidate
from eval.clock.timed_worker import TimedWorker
from eval.languages.registry import TORCH
from eval.selftest.known import CORRECT
from eval.supervisor.device_memory import DeviceMemory
from eval.supervisor.memory import FILLERS
from eval.supervisor.process import WorkerProcess
from eval.supervisor.trial import Trial
from eval.worker.fault import Fault
from kb.types.evidence import Outcome
from kb.types.kernels import Candidate
from tests.eval import fake_gpu
from tests.eval.judging import given_case, needs_linux, reference, task

pytestmark = needs_linux
ON_FAKE = TORCH.model_copy(update={"adapter": Path(fake_gpu.__file__)})
HONEST = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return 2 * x + 1\n"
LIE = """
from eval.worker.device_mapping import DeviceMapping
HONEST = DeviceMapping.place_of
DeviceMapping.place_of = lambda *_: PLACE
"""


@pytest.fixture
def driver() -> fake_gpu.FakeDriver:
    return fake_gpu.FakeDriver()


@pytest.fixture
def memory(driver: fake_gpu.FakeDriver) -> DeviceMemory:
    return DeviceMemory(driver)  # type: ignore[arg-type]


def trial_of(source: str, memory: DeviceMemory) -> Trial:
    return Trial(Candidate(language="torch", source=source), language=ON_FAKE, level=0, call_s=60.0, memory=memory)


def outcome_of(source: str, memory: DeviceMemory, on: str = "scale", times: int = 1) -> Outcome:
    try:
        trial_of(source, memory).check([given_case(on)] * times, [])
    except Fault as fault:
        return Outcome(fault.outcome)
    return Outcome.PASSED


def test_an_honest_candidate_passes(memory: DeviceMemory):
    assert outcome_of(HONEST, memory) is Outcome.PASSED


def test_parameters_and_numbers_reach_the_candidate(memory: DeviceMemory):
    assert outcome_of((CORRECT / "linear_by_name.py").read_text(encoding="utf-8"), memory, "linear") is Outcome.PASSED
    assert outcome_of((CORRECT / "scaled_by.py").read_text(encoding="utf-8"), memory, "scaled_by") is Outcome.PASSED


@pytest.mark.parametrize(
    ("lie", "outcome"),
    [
        ("'00' * 64 + ':0'", Outcome.BAD_OUTPUT),
        ("'0'", Outcome.BAD_OUTPUT),
        ("HONEST(*_).partition(':')[0] + f':{1 << 40}'", Outcome.BAD_OUTPUT),
        ("HONEST(*_).partition(':')[0] + ':1'", Outcome.BAD_OUTPUT),
        ("HONEST(*_).partition(':')[0] + ':-1'", Outcome.FORGED),
        ("'no handle:0'", Outcome.FORGED),
        ("'0 0'", Outcome.FORGED),
        ("''", Outcome.FORGED),
        ("'0\\n0'", Outcome.FORGED),
    ],
)
def test_a_lie_about_the_place_of_an_output_is_refused(lie: str, outcome: Outcome, memory: DeviceMemory):
    assert outcome_of(HONEST + LIE.replace("PLACE", lie), memory) is outcome


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ("x.mul_(2).add_(1)", Outcome.ALIASED_INPUT),
        ("x.mul_(2) * 1 + 1", Outcome.MUTATED_INPUT),
        ("2 * x", Outcome.INCORRECT),
        ("(2 * x + 1).double()", Outcome.BAD_OUTPUT),
    ],
)
def test_a_wrong_candidate_has_the_outcome_that_it_has_on_a_cpu(body: str, outcome: Outcome, memory: DeviceMemory):
    assert outcome_of(HONEST.replace("2 * x + 1", body), memory) is outcome


def test_no_zeros_lie_between_inputs_while_a_candidate_is_checked(memory: DeviceMemory, driver: fake_gpu.FakeDriver):
    ones = torch.ones(3).numpy().tobytes()

    with trial_of(HONEST, memory).worker() as worker:
        memory.spoil_gaps(worker, memory.share(worker, [[torch.ones(3), torch.ones(3)]]))
        [path] = driver.files.values()
        found = Path(path).read_bytes()

    assert (found[:12], found[64:76]) == (ones, ones)
    assert set(found[12:64]) < set(FILLERS)


def test_an_output_of_no_elements_has_no_memory(memory: DeviceMemory):
    from eval.supervisor.memory import RemoteTensor

    empty = RemoteTensor(dtype="float32", shape=(0, 3), stride=(3, 1), pointer=0)

    with trial_of(HONEST, memory).worker() as worker:
        assert memory.read(worker, empty).shape == (0, 3)


def test_memory_for_inputs_is_freed_when_its_worker_ends(memory: DeviceMemory, driver: fake_gpu.FakeDriver):
    assert outcome_of(HONEST, memory) is Outcome.PASSED
    assert outcome_of(HONEST.replace("2 * x", "3 * x"), memory) is Outcome.INCORRECT

    assert not driver.files
    assert not driver.copied


@pytest.mark.parametrize(
    ("after", "outcome"),
    [({0, 1}, Outcome.FORBIDDEN), ({3, 15}, Outcome.FORBIDDEN), ({9}, Outcome.PASSED)],
    ids=["always", "often", "now and then"],
)
def test_kernels_that_run_while_their_process_is_stopped_are_refused_unless_it_is_rare(
    after: set[int], outcome: Outcome, memory: DeviceMemory, monkeypatch: pytest.MonkeyPatch
):
    call = count()
    check = DeviceMemory.check_rest

    def checked(memory: DeviceMemory, worker: WorkerProcess) -> None:
        busy = next(call) in after
        monkeypatch.setattr(memory, "_wait_s", lambda: 1.0 if busy else 0.0)
        check(memory, worker)

    monkeypatch.setattr(DeviceMemory, "check_rest", checked)

    assert outcome_of_calls(HONEST, memory, times=16) is outcome


def test_while_a_candidate_is_checked_the_gpu_may_work_for_others(
    memory: DeviceMemory, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(memory, "_wait_s", lambda *_: 1.0)

    assert outcome_of(HONEST, memory, times=16) is Outcome.PASSED


def outcome_of_calls(source: str, memory: DeviceMemory, *, times: int) -> Outcome:
    """The outcome of timed calls."""
    try:
        with TimedWorker(trial_of(source, memory), reference("scale"), given_case("scale")) as worker:
            for _ in range(times):
                worker.time_call(given_case("scale").inputs)
    except Fault as fault:
        return Outcome(fault.outcome)
    return Outcome.PASSED


@pytest.fixture
def baselines(memory: DeviceMemory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Baselines]:
    monkeypatch.setattr(sessions, "ATTEMPTS", 1)
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 1)
    monkeypatch.setattr(sessions, "MOST_OTHERS", 2.0)
    monkeypatch.setitem(
        sessions.POLICIES, "cpu", sessions.SessionPolicy(session_s=0.1, process_spread=0.0, slow_process=0.0)
    )
    monkeypatch.setattr(sessions, "clocks_disagree", lambda *_: False)  # a fake GPU has no clock of its own
    found = Baselines(
        task("scale"), reference("scale"), {"eager": "ModelNew = Model"},
        lambda candidate: Trial(candidate, language=ON_FAKE, level=0, call_s=60.0, memory=memory),
    )  # fmt: skip
    yield found
    found.close()


def test_a_candidate_is_timed_beside_its_baselines(memory: DeviceMemory, baselines: Baselines):
    timing, _ = time_candidate(trial_of(HONEST, memory), baselines, ())

    assert timing.baseline == "eager"
    assert len(timing.sessions[0].candidate_us) >= 10


@pytest.mark.parametrize(
    "change",
    [
        "y = KNOWN.setdefault(x.data_ptr(), 2 * x + 1)\n        return y",
        "KNOWN[len(KNOWN)] = 0\n        return 2 * x + 1 if len(KNOWN) < 4 else torch.empty_like(x)",
    ],
)
def test_an_old_result_is_not_taken_for_a_new_one(change: str, memory: DeviceMemory, baselines: Baselines):
    source = HONEST.replace("return 2 * x + 1", change) + "KNOWN = {}\n"

    with pytest.raises(Fault) as refusal:
        time_candidate(trial_of(source, memory), baselines, ())

    assert refusal.value.outcome == Outcome.STALE_OUTPUT


def test_a_copy_of_more_bytes_takes_longer(memory: DeviceMemory):
    assert memory.copy_s(1 << 28) > memory.copy_s(1 << 20)


def test_a_part_of_the_inputs_comes_right_before_the_start(memory: DeviceMemory, monkeypatch: pytest.MonkeyPatch):
    """What a stopped process computes on inputs that it sees too early is wrong somewhere, and it cannot know where."""
    case, before_call = given_case("scale"), memory.before_call
    fresh = [torch.randn_like(x) for x in case.inputs]
    worker = TimedWorker(trial_of(HONEST, memory), reference("scale"), case)
    early, late = [], []

    def is_there() -> bool:
        return any(torch.equal(page[0], fresh[0]) for page in worker._shared.sets)

    def watched(last: Sequence[Callable[[], None]]) -> None:
        early.append(is_there())
        before_call(last)
        late.append(is_there())

    monkeypatch.setattr(memory, "before_call", watched)
    with worker:
        reply = worker.call(fresh)

    assert (early[-1], late[-1]) == (False, True)
    assert torch.equal(reply.outputs[0], 2 * fresh[0] + 1)

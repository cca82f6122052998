"""On a GPU every known cheat is refused with its outcome, honest kernels pass, and faults harm only their candidate."""

import time

import pytest

from eval.clock import sessions
from eval.devices import gpu
from eval.machine import present_gpu
from eval.selftest.known import CORRECT, WRONG, Known, known_task, read_candidate
from eval.supervisor.settings import Guard
from kb.types.evidence import Outcome
from tests.eval.gpu_judging import CHEATS, HONEST, SCREENED, TEMPLATES, template, verdict_on

on_gpu = [pytest.mark.gpu, pytest.mark.skipif(present_gpu() is None, reason="there is no GPU that torch can use")]
RECOVERY_S = 10.0
GUARDED = sorted((cheat for cheat in CHEATS if cheat.guard), key=lambda cheat: str(cheat.guard))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """One short session, and only the eager baseline."""
    monkeypatch.setattr(sessions, "WIN_SESSIONS", 1)
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 1)
    monkeypatch.setitem(
        sessions.POLICIES, "cuda", sessions.SessionPolicy(session_s=0.5, process_spread=0.0, slow_process=0.0)
    )
    monkeypatch.setattr(gpu, "gpu_sources", lambda *_: {"eager": "ModelNew = Model"})


def marked(names: list[str]) -> list[object]:
    return [pytest.param(name, id=name, marks=on_gpu) for name in names]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kernel", [pytest.param(k, id=k.file, marks=on_gpu) for k in (*CHEATS, *HONEST, *SCREENED)])
def test_a_known_kernel_gets_its_outcome(kernel: Known) -> None:
    evidence = verdict_on(kernel.candidate, kernel.subject, kernel.call_s or 60.0)

    assert evidence.outcome in kernel.outcomes, evidence


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kernel", [pytest.param(k, id=k.file, marks=on_gpu) for k in GUARDED])
def test_a_cheat_is_accepted_when_its_guard_is_off(kernel: Known) -> None:
    evidence = verdict_on(kernel.candidate, kernel.subject, off=kernel.guard)

    assert evidence.outcome is Outcome.PASSED, evidence


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("trick", "honest"),
    [
        pytest.param("persisting_l2.cu", "row_sum.cu", marks=on_gpu),
        pytest.param("other_stream.py", "softmax_eager.py", marks=on_gpu),
        pytest.param("hides_some.py", "softmax_eager.py", marks=on_gpu),
    ],
)
def test_a_trick_that_is_not_always_refused_gains_nothing(trick: str, honest: str) -> None:
    subject = next(kernel.subject for kernel in HONEST if kernel.file == f"gpu/{honest}")
    tricky, plain = (
        verdict_on(read_candidate(path), subject).timing for path in (WRONG / "gpu" / trick, CORRECT / "gpu" / honest)
    )

    assert plain
    assert tricky is None or tricky.speedup < 1.05 * plain.speedup


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", marked(["hides_some.py"]))
def test_a_little_that_is_hidden_in_each_question_gains_if_calls_are_never_timed_together(name: str) -> None:
    subject = next(kernel.subject for kernel in HONEST if kernel.file == "gpu/softmax_eager.py")

    evidence = verdict_on(read_candidate(WRONG / "gpu" / name), subject, off=Guard.BATCHES)

    assert evidence.timing
    assert evidence.timing.speedup > 1.1


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", marked(list(TEMPLATES)))
def test_a_template_in_triton_passes(name: str) -> None:
    evidence = verdict_on(*template(name))

    assert evidence.outcome is Outcome.PASSED, evidence


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("file", marked(["illegal_address.cu", "misaligned.cu", "endless.cu", "allocates_too_much.py"]))
def test_a_good_kernel_passes_soon_after_a_fault(file: str) -> None:
    good, fault = (read_candidate(folder / "gpu" / name) for folder, name in ((CORRECT, "scale.cu"), (WRONG, file)))
    verdict_on(good, known_task("scale"), 5.0)  # the baselines are running
    verdict_on(fault, known_task("scale"), 5.0)
    start = time.monotonic()

    evidence = verdict_on(good, known_task("scale"), 5.0)

    assert evidence.outcome is Outcome.PASSED, evidence
    assert time.monotonic() - start < RECOVERY_S

"""On a GPU every known cheat is refused with its outcome, honest kernels pass, and faults harm only their candidate."""

import time

import pytest

from eval.devices import cpu_timing, gpu_baselines
from eval.machine import present_gpu
from kb.model.evidence import Outcome
from tests.eval.gpu_judging import (
    APART,
    CHEATS,
    CORRECT,
    HONEST,
    TEMPLATES,
    WRONG,
    Cheat,
    candidate,
    template,
    verdict_on,
)

on_gpu = [pytest.mark.gpu, pytest.mark.skipif(present_gpu() is None, reason="there is no GPU that torch can use")]
RECOVERY_S = 10.0


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """One short session, and only the eager baseline."""
    monkeypatch.setattr(cpu_timing, "WIN_SESSIONS", 1)
    monkeypatch.setattr(cpu_timing, "SESSION_S", 0.5)
    monkeypatch.setattr(gpu_baselines, "gpu_sources", lambda *_: {"eager": "ModelNew = Model"})


def marked(names: list[str]) -> list[object]:
    return [pytest.param(name, id=name, marks=on_gpu) for name in names]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("cheat", [pytest.param(cheat, id=cheat.file, marks=on_gpu) for cheat in CHEATS])
def test_a_cheat_is_refused_with_the_right_outcome(cheat: Cheat) -> None:
    evidence = verdict_on(candidate(WRONG / cheat.file), cheat.on, cheat.call_s)

    assert evidence.outcome in cheat.outcomes, evidence


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("cheat", [pytest.param(cheat, id=cheat.file, marks=on_gpu) for cheat in CHEATS if cheat.guard])
def test_a_cheat_is_accepted_when_its_guard_is_off(cheat: Cheat) -> None:
    evidence = verdict_on(candidate(WRONG / cheat.file), cheat.on, cheat.call_s, cheat.guard)

    assert evidence.outcome is Outcome.PASSED, evidence


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("cheat", marked(["persisting_l2.cu"]))
def test_keeping_an_input_in_the_l2_gains_nothing(cheat: str) -> None:
    honest, tricky = (verdict_on(candidate(path), "row_sum").timing for path in (CORRECT / "row_sum.cu", WRONG / cheat))

    assert honest
    assert tricky
    assert tricky.candidate_us > 0.97 * honest.candidate_us


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("file", marked(list(HONEST)))
def test_an_honest_kernel_passes(file: str) -> None:
    evidence = verdict_on(candidate(CORRECT / file), HONEST[file])

    assert evidence.outcome is Outcome.PASSED, evidence


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", marked(list(TEMPLATES)))
def test_a_template_in_triton_passes(name: str) -> None:
    evidence = verdict_on(template(name), TEMPLATES[name])

    assert evidence.outcome is Outcome.PASSED, evidence


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("file", marked(["illegal_address.cu", "misaligned.cu", "endless.cu"]))
def test_a_good_kernel_passes_soon_after_a_fault(file: str) -> None:
    verdict_on(candidate(CORRECT / "scale.cu"), "scale", 5.0)  # the baselines are running
    verdict_on(candidate(WRONG / file), "scale", 5.0)
    start = time.monotonic()

    evidence = verdict_on(candidate(CORRECT / "scale.cu"), "scale", 5.0)

    assert evidence.outcome is Outcome.PASSED, evidence
    assert time.monotonic() - start < RECOVERY_S


def test_every_kernel_on_disk_is_tried() -> None:
    assert {f.name for f in WRONG.iterdir()} == {cheat.file for cheat in CHEATS} | APART
    assert {f.name for f in CORRECT.iterdir()} == set(HONEST)

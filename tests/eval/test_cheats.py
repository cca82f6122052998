"""Every known cheat is refused with the right outcome, by the guard against it; honest kernels pass."""

import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median

import pytest

from eval.clock import rounds, sessions
from eval.selftest.known import CORRECT, WRONG, Known, known
from eval.supervisor import tree, trial
from eval.supervisor.settings import ALL_GUARDS, Guard
from eval.supervisor.trial import Trial
from eval.worker import channel
from eval.worker.fault import Fault
from kb.types.evidence import Outcome
from tests.eval.judging import (
    PATIENCE_S,
    given_case,
    is_alive,
    judge,
    needs_compiler,
    needs_linux,
    needs_sandbox,
    reference,
    trial_of,
)

pytestmark = [needs_linux, pytest.mark.usefixtures("quick")]


CHEATS = [cheat for cheat in known().cheats if cheat.device == "Cpu"]
HONEST = [kernel for kernel in known().honest if kernel.device == "Cpu"]
ATTEMPTS = sessions.ATTEMPTS


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rounds in one attempt, so that the tests are quick."""
    monkeypatch.setattr(rounds, "LEAST_ROUNDS", 12)
    monkeypatch.setattr(rounds, "MOST_ROUNDS", 12)
    monkeypatch.setattr(sessions, "WIN_SESSIONS", 1)
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 1)
    monkeypatch.setattr(sessions, "ATTEMPTS", 1)
    monkeypatch.setattr(channel, "MAX_LINE_BYTES", 1 << 19)


@pytest.fixture
def patient(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many attempts as users have: on a noisy core honest clocks may disagree in one of them."""
    monkeypatch.setattr(sessions, "ATTEMPTS", ATTEMPTS)


def parameters(
    kernels: Sequence[Known],
    *,
    normal: Sequence[Known] | None = None,
    alone: Callable[[Known], bool] = lambda kernel: False,
) -> list[object]:
    """The kernels as parameters of a test.

    Args:
        normal: Those of the normal run; the others are slow (None: all are normal).
        alone: Whether the verdict on a kernel depends on times, which other tests would disturb.
    """
    return [
        pytest.param(
            kernel,
            id=f"{kernel.file}-{kernel.task}",
            marks=[
                *[needs_sandbox] * (kernel.guard is Guard.SANDBOX),
                *[needs_compiler] * kernel.file.endswith(".cpp"),
                *[pytest.mark.alone] * alone(kernel),
                *[pytest.mark.slow] * (normal is not None and kernel not in normal),
            ],
        )
        for kernel in kernels
    ]


def firsts(kernels: Sequence[Known], way: Callable[[Known], object]) -> list[Known]:
    """The first kernel of each way."""
    return [*{way(kernel): kernel for kernel in reversed(kernels)}.values()]


EACH_WAY_TO_BE_REFUSED = firsts(
    CHEATS, lambda c: (c.guard, c.outcomes[0], c.timed, c.held_out is None, bool(c.held_out))
)


@pytest.mark.parametrize(
    "cheat", parameters(CHEATS, normal=EACH_WAY_TO_BE_REFUSED, alone=lambda cheat: cheat.guard is Guard.CLOCKS)
)
def test_a_cheat_is_refused_with_the_right_outcome(cheat: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_OTHERS", 2.0)  # clocks are compared on a busy machine too
    monkeypatch.setattr(trial, "SETTLE_S", cheat.settle_s)

    verdict = judge(
        cheat.path, cheat.task, call_s=cheat.call_s or PATIENCE_S, timed=cheat.timed, held_out=cheat.held_out
    )

    assert verdict.outcome in cheat.outcomes, verdict


GUARDED = [cheat for cheat in CHEATS if cheat.guard or cheat.call_s or cheat.held_out is not None]
EACH_GUARD = firsts(GUARDED, lambda cheat: (cheat.guard, cheat.call_s, bool(cheat.held_out)))


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("cheat", parameters(GUARDED, normal=EACH_GUARD, alone=lambda cheat: cheat.timed))
def test_a_cheat_is_accepted_when_its_guard_is_off(cheat: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "SETTLE_S", cheat.settle_s)

    verdict = judge(cheat.path, cheat.task, ALL_GUARDS - {cheat.guard}, timed=cheat.timed)

    assert verdict.outcome is Outcome.PASSED, verdict


ONE_OF_A_KIND = ("argmax.cpp", "linear_loaded.py", "linear_repacked.cpp", "scale_openmp.cpp", "softmax_half.cpp")
"""Integers; parameters that are loaded and repacked; threads; half precision."""


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    "kernel",
    parameters(HONEST, normal=[k for k in HONEST if k.file in ONE_OF_A_KIND], alone=lambda kernel: kernel.timed),
)
def test_an_honest_kernel_passes(kernel: Known) -> None:
    verdict = judge(kernel.path, kernel.task, timed=kernel.timed)

    assert verdict.outcome is Outcome.PASSED, verdict


COUNTS_THREADS = """
import torch

class ModelNew(torch.nn.Module):
    def forward(self, x):
        if (count := torch.get_num_threads()) != {threads}:
            raise RuntimeError(f"{{count}} threads")
        return 2 * x + 1
"""


def test_a_candidate_may_use_all_threads_while_it_is_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(sessions, "MOST_OTHERS", 2.0)
    (tmp_path / "counts.py").write_text(COUNTS_THREADS.format(threads=torch.get_num_threads()))

    verdict = judge(tmp_path / "counts.py", "scale", ALL_GUARDS - {Guard.CLOCKS}, timed=True)

    assert verdict.outcome is Outcome.PASSED, verdict


@pytest.mark.alone
@needs_compiler
def test_a_candidate_cannot_inflate_the_overhead_that_is_subtracted_from_its_time() -> None:
    verdict = judge(WRONG / "slow_to_answer.cpp", "scale", timed=True)

    if verdict.timing:
        assert verdict.timing.candidate_us > 0.5 * median(verdict.timing.sessions[0].inside_us)
    else:
        assert verdict.outcome is Outcome.CLOCKS_DISAGREE, verdict


@pytest.mark.alone
@needs_compiler
@pytest.mark.parametrize("unseen_us", [20, pytest.param(90, marks=pytest.mark.slow)])
def test_most_work_of_a_candidate_that_answers_in_the_worker_s_place_counts(
    unseen_us: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "MOST_ROUNDS", 60)
    cheat = tmp_path / "answers_itself.cpp"
    cheat.write_text((WRONG / cheat.name).read_text(encoding="utf-8").replace("90e-6", f"{unseen_us}e-6"))

    verdict = judge(cheat, "scale", timed=True)

    if verdict.timing:
        assert verdict.timing.candidate_us > 0.5 * unseen_us
    else:
        assert verdict.outcome is Outcome.CLOCKS_DISAGREE, verdict


@needs_compiler
def test_a_candidate_cannot_remember_the_cases_that_are_tried_while_it_is_timed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rounds, "MOST_ROUNDS", 120)
    monkeypatch.setattr(sessions, "MOST_OTHERS", 2.0)
    monkeypatch.setitem(
        sessions.POLICIES, "cpu", sessions.SessionPolicy(session_s=60.0, process_spread=0.1, slow_process=0.1)
    )

    verdict = judge(WRONG / "careful_at_first.cpp", "softmax", timed=True, held_out={})

    assert verdict.outcome is Outcome.INCORRECT, verdict


@needs_compiler
def test_working_ahead_of_a_call_gains_nothing() -> None:
    def call_us(guards: frozenset[Guard]) -> float:
        verdict = judge(WRONG / "works_ahead.cpp", "sines", guards - {Guard.CLOCKS}, timed=True)
        assert verdict.timing, verdict
        return verdict.timing.candidate_us

    assert call_us(ALL_GUARDS) > 10 * call_us(ALL_GUARDS - {Guard.TURNS})


@pytest.mark.parametrize(("guards", "busy"), [(ALL_GUARDS, False), (ALL_GUARDS - {Guard.PAUSE}, True)])
@pytest.mark.parametrize(("file", "processes"), {"spins.cpp": 1, "spins.py": 2}.items())
@needs_compiler
@needs_sandbox
def test_no_process_of_a_worker_uses_processor_time_between_questions(
    file: str, processes: int, guards: frozenset[Guard], busy: bool
) -> None:
    tried = trial_of(WRONG / file, guards)

    with tried.worker() as worker:
        tried.build(worker, reference("scale"), given_case("scale"))
        before = group_cpu_s(worker.pid)
        time.sleep(0.5)
        used_s = {pid: used - before[pid] for pid, used in group_cpu_s(worker.pid).items()}

    assert len(used_s) == processes
    assert all((used > 0.05) == busy for used in used_s.values()), used_s


@needs_compiler
def test_a_worker_that_wakes_itself_is_refused_where_the_sandbox_does_not_prevent_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tree, "STOP_S", 1.0)
    unconfined = ALL_GUARDS - {Guard.SANDBOX}

    # Beside other work its threads may not run in any of the moments at which it is stopped.
    outcomes = (judge(WRONG / "wakes_itself.cpp", "scale", unconfined).outcome for _ in range(3))
    assert any(outcome is Outcome.FORBIDDEN for outcome in outcomes)
    assert judge(WRONG / "wakes_itself.cpp", "scale", unconfined - {Guard.PAUSE}).outcome is Outcome.PASSED


@needs_compiler
@needs_sandbox
def test_a_confined_worker_cannot_wake_itself() -> None:
    assert judge(WRONG / "wakes_itself.cpp", "scale").outcome is Outcome.PASSED


@needs_compiler
def test_a_worker_whose_child_runs_while_it_is_stopped_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "STOP_S", 1.0)

    with pytest.raises(Fault, match=r"stand still|stood still") as caught:
        call_often(trial_of(WRONG / "child_wakes.cpp", ALL_GUARDS - {Guard.SANDBOX}))

    assert caught.value.outcome == Outcome.FORBIDDEN


@needs_compiler
@needs_sandbox
def test_a_confined_candidate_in_cpp_has_no_child() -> None:
    assert len(call_often(trial_of(WRONG / "child_wakes.cpp"))) == 1


def call_often(tried: Trial) -> dict[int, float]:
    """Call a candidate for the task `sines`, stop it and let it run; return the CPU time of its processes."""
    case = given_case("sines")
    with tried.worker() as worker:
        tried.build(worker, reference("sines"), case)
        tried.send_inputs(worker, tried.memory.share(worker, [case.inputs]))
        for _ in range(30):
            tried.call(worker, 0)
            time.sleep(0.02)
            worker.let_run(0.05)
        return group_cpu_s(worker.pid)


def group_cpu_s(group: int) -> dict[int, float]:
    """CPU time in seconds of each process of a group, by process id."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text(encoding="utf-8").rpartition(")")[2].split()
            if int(fields[2]) == group:
                found[int(path.parent.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


@needs_sandbox
def test_no_process_that_a_candidate_starts_outlives_its_trial() -> None:
    verdict = judge(WRONG / "forks.py", "scale")

    assert verdict.outcome is Outcome.PASSED, verdict
    [pid] = re.findall(r"left behind: (\d+)", verdict.log)
    assert not is_alive(int(pid))


@needs_compiler
@needs_sandbox
def test_a_candidate_in_cpp_starts_no_process() -> None:
    verdict = judge(WRONG / "forks.cpp", "scale")

    assert (verdict.outcome, verdict.log) == (Outcome.PASSED, "no child\n")


def test_every_kernel_on_disk_is_known() -> None:
    on_disk = {path for folder in (WRONG, CORRECT) for path in folder.rglob("*.*")}
    listed = {kernel.path for kernel in (*known().cheats, *known().honest)}

    assert on_disk == listed | {WRONG / file for file in known().apart}

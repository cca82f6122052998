"""Every known cheat is refused with the right outcome, by the guard against it; honest kernels pass."""

import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pytest

from eval.devices import baselines as baselines_module
from eval.devices import cpu_timing as measure
from eval.devices.baselines import EAGER
from eval.fault import Fault
from eval.worker import channel, tree, trial
from eval.worker.process import ALL_GUARDS, Guard
from eval.worker.trial import Trial
from kb.model.evidence import Outcome
from tests.eval.judging import (
    CORRECT,
    PATIENCE_S,
    WRONG,
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


@dataclass(frozen=True)
class Cheat:
    """A file of kernels/wrong, the task it is tried on, and the outcome that it must have.

    Args:
        guard: The guard that catches it. None if no guard can be switched off, because it gives nothing to accept.
        call_s: Time limit for a call; without the limit it is accepted.
        timed: Whether it is correct when checked and cheats when timed.
        hidden: Sizes at which it is wrong, empty for those given with other values; without them it is accepted.
        settle_s: Time during which its outputs are watched: longer than its delay, even on a loaded machine.
    """

    file: str
    outcome: Outcome
    guard: Guard | None = None
    on: str = "scale"
    call_s: float | None = None
    timed: bool = False
    hidden: dict[str, int] | None = None
    settle_s: float = 0.05

    @property
    def path(self) -> Path:
        return WRONG / self.file


CHEATS = [
    Cheat("wrong_answer.cpp", Outcome.INCORRECT, Guard.COMPARISON),
    Cheat("half_precision.cpp", Outcome.INCORRECT, Guard.COMPARISON),
    Cheat("not_a_number.cpp", Outcome.INCORRECT, Guard.COMPARISON),
    Cheat("off_by_one.cpp", Outcome.INCORRECT, Guard.COMPARISON, on="extremes"),
    Cheat("leaves_tail.cpp", Outcome.INCORRECT, Guard.COMPARISON),
    Cheat("relies_on_zeros.cpp", Outcome.INCORRECT, Guard.COMPARISON, on="row_sum"),
    Cheat("relies_on_identity.cpp", Outcome.INCORRECT, Guard.COMPARISON, on="linear"),
    Cheat("special_cases_size.cpp", Outcome.INCORRECT, on="row_sum", hidden={"COLS": 333}),
    Cheat("flushes_small_outputs.cpp", Outcome.INCORRECT, Guard.COMPARISON, on="softmax"),
    Cheat("multiplies_in_tf32.cpp", Outcome.INCORRECT, Guard.COMPARISON, on="matmul"),
    Cheat("no_maximum_at_own_size.cpp", Outcome.INCORRECT, on="softmax", hidden={}),
    Cheat("samples_for_maximum.cpp", Outcome.INCORRECT, on="softmax", hidden={}),
    Cheat("assumes_positive.cpp", Outcome.INCORRECT, on="magnitude", hidden={}),
    Cheat("hangs.cpp", Outcome.TIMED_OUT, call_s=1.0),
    Cheat("crashes_at_exit.cpp", Outcome.CRASHED, Guard.EXIT),
    Cheat("prints_pass.cpp", Outcome.FORGED, Guard.CHANNEL),
    Cheat("endless_line.cpp", Outcome.FORGED, Guard.CHANNEL),
    Cheat("returns_input.py", Outcome.ALIASED_INPUT, Guard.ALIASING, on="clone"),
    Cheat("mutates_input.cpp", Outcome.MUTATED_INPUT, Guard.MUTATION),
    Cheat("mutates_when_timed.cpp", Outcome.MUTATED_INPUT, Guard.MUTATION, timed=True),
    Cheat("writes_late.cpp", Outcome.LATE_OUTPUT, Guard.AT_ONCE, settle_s=0.4),
    Cheat("caches_by_pointer.cpp", Outcome.STALE_OUTPUT, Guard.FRESH_INPUTS, timed=True),
    Cheat("skips_calls.cpp", Outcome.STALE_OUTPUT, Guard.COMPARISON, timed=True),
    Cheat("relies_on_old_output.cpp", Outcome.STALE_OUTPUT, Guard.OVERWRITING, on="diagonal", timed=True),
    Cheat("reuses_outputs.py", Outcome.STALE_OUTPUT, Guard.OVERWRITING, on="diagonal", timed=True),
    Cheat("looks_ahead.cpp", Outcome.STALE_OUTPUT, on="small_gemv", timed=True),
    Cheat("patches_timer.cpp", Outcome.CLOCKS_DISAGREE, Guard.CLOCKS, on="sines", timed=True),
    Cheat("reads_parent.py", Outcome.FORBIDDEN, Guard.SANDBOX),
    Cheat("opens_socket.py", Outcome.FORBIDDEN, Guard.SANDBOX),
    Cheat("segfault.cpp", Outcome.CRASHED),
    Cheat("exits_early.cpp", Outcome.CRASHED),
    Cheat("allocates_much.cpp", Outcome.CRASHED),
    Cheat("exits_after_answer.cpp", Outcome.CRASHED, settle_s=0.4),
    Cheat("says_passed.cpp", Outcome.FORGED),
    Cheat("answers_nonsense.cpp", Outcome.FORGED),
    Cheat("points_nowhere.cpp", Outcome.BAD_OUTPUT),
    Cheat("bad_shape.py", Outcome.BAD_OUTPUT),
    Cheat("bad_dtype.py", Outcome.BAD_OUTPUT),
    Cheat("lazy_output.py", Outcome.BAD_OUTPUT),
    Cheat("too_many_outputs.py", Outcome.BAD_OUTPUT),
    Cheat("syntax_error.py.txt", Outcome.COMPILE_ERROR),
    Cheat("no_model.py", Outcome.COMPILE_ERROR),
    Cheat("does_not_compile.cpp", Outcome.COMPILE_ERROR),
    Cheat("no_model_new.cpp", Outcome.COMPILE_ERROR),
    Cheat("other_parameters.py", Outcome.INCOMPATIBLE_PARAMETERS, on="linear"),
    Cheat("wrong_answer.cpp", Outcome.INCOMPATIBLE_PARAMETERS, on="scaled_by"),
    Cheat("raises.py", Outcome.RAISED),
]
APART = {
    "slow_to_answer.cpp", "works_ahead.cpp", "spins.cpp", "spins.py", "wakes_itself.cpp", "forks.cpp", "forks.py",
    "child_wakes.cpp",
}  # fmt: skip
"""Cheats that have their own tests below. Most are not refused, because they gain nothing."""
HONEST = {
    "scale_openmp.cpp": "scale",
    "total.cpp": "total",
    "linear.cpp": "linear",
    "linear_repacked.cpp": "linear",
    "diagonal.cpp": "diagonal",
    "extremes.cpp": "extremes",
    "sines.cpp": "sines",
    "linear_by_name.py": "linear",
    "linear_loaded.py": "linear",
    "scaled_by.py": "scaled_by",
    "softmax.cpp": "softmax",
    "softmax_half.cpp": "softmax_half",
    "cumsum.cpp": "cumsum",
    "gemv.cpp": "small_gemv",
    "triangular.py": "triangular",
    "matmul.cpp": "matmul",
    "gelu.cpp": "gelu",
    "layernorm.cpp": "layernorm",
    "logsumexp.cpp": "logsumexp",
    "cross_entropy.cpp": "cross_entropy",
    "argmax.cpp": "argmax",
    "add_brain.cpp": "add_brain",
    "magnitude.cpp": "magnitude",
}
"""Files of kernels/correct, and the tasks that they solve."""
TIMED = {"scale_openmp.cpp", "total.cpp"}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rounds in one attempt, and only the eager baseline, so that the tests are quick."""
    monkeypatch.setattr(baselines_module, "SOURCES", {EAGER: baselines_module.SOURCES[EAGER]})
    monkeypatch.setattr(measure, "LEAST_ROUNDS", 12)
    monkeypatch.setattr(measure, "MOST_ROUNDS", 12)
    monkeypatch.setattr(measure, "WIN_SESSIONS", 1)
    monkeypatch.setattr(measure, "ATTEMPTS", 1)
    monkeypatch.setattr(channel, "MAX_LINE_BYTES", 1 << 19)


def parameters(cheats: Sequence[Cheat]) -> list[object]:
    return [pytest.param(cheat, id=f"{cheat.file}-{cheat.on}", marks=_marks(cheat)) for cheat in cheats]


def _marks(cheat: Cheat) -> list[pytest.MarkDecorator]:
    return [
        *[needs_sandbox] * (cheat.guard is Guard.SANDBOX),
        *[needs_compiler] * cheat.file.endswith(".cpp"),
        *[pytest.mark.alone] * cheat.timed,
    ]


@pytest.mark.parametrize("cheat", parameters(CHEATS))
def test_a_cheat_is_refused_with_the_right_outcome(cheat: Cheat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "MOST_OTHERS", 2.0)  # clocks are compared on a busy machine too
    monkeypatch.setattr(trial, "SETTLE_S", cheat.settle_s)

    verdict = judge(cheat.path, cheat.on, call_s=cheat.call_s or PATIENCE_S, timed=cheat.timed, hidden=cheat.hidden)

    assert verdict.outcome is cheat.outcome, verdict


@pytest.mark.parametrize("cheat", parameters([c for c in CHEATS if c.guard or c.call_s or c.hidden is not None]))
def test_a_cheat_is_accepted_when_its_guard_is_off(cheat: Cheat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "SETTLE_S", cheat.settle_s)

    verdict = judge(cheat.path, cheat.on, ALL_GUARDS - {cheat.guard}, timed=cheat.timed)

    assert verdict.outcome is Outcome.PASSED, verdict


@pytest.mark.parametrize(
    "file",
    [pytest.param(f, marks=[needs_compiler] * f.endswith(".cpp") + [pytest.mark.alone] * (f in TIMED)) for f in HONEST],
)
def test_an_honest_kernel_passes(file: str) -> None:
    verdict = judge(CORRECT / file, HONEST[file], timed=file in TIMED)

    assert verdict.outcome is Outcome.PASSED, verdict


@pytest.mark.alone
@needs_compiler
def test_a_candidate_cannot_inflate_the_overhead_that_is_subtracted_from_its_time() -> None:
    timing = judge(WRONG / "slow_to_answer.cpp", "scale", timed=True).timing

    assert timing
    assert timing.candidate_us > 0.5 * median(timing.sessions[0].inside_us)


@pytest.mark.slow  # compares times, which needs a machine without other work
@needs_compiler
def test_working_ahead_of_a_question_gains_nothing() -> None:
    in_turn_us, ahead_us = (
        median(judge(WRONG / "works_ahead.cpp", "sines", guards, timed=True).timing.sessions[0].inside_us)
        for guards in (ALL_GUARDS, ALL_GUARDS - {Guard.TURNS, Guard.CLOCKS})
    )

    assert ahead_us < 0.5 * in_turn_us


@pytest.mark.alone
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


@pytest.mark.alone
@needs_compiler
def test_a_worker_that_wakes_itself_is_refused_where_the_sandbox_does_not_prevent_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tree, "STOP_S", 1.0)
    unconfined = ALL_GUARDS - {Guard.SANDBOX}

    assert judge(WRONG / "wakes_itself.cpp", "scale", unconfined).outcome is Outcome.FORBIDDEN
    assert judge(WRONG / "wakes_itself.cpp", "scale", unconfined - {Guard.PAUSE}).outcome is Outcome.PASSED


@pytest.mark.alone
@needs_compiler
@needs_sandbox
def test_a_confined_worker_cannot_wake_itself() -> None:
    assert judge(WRONG / "wakes_itself.cpp", "scale").outcome is Outcome.PASSED


@pytest.mark.alone
@needs_compiler
def test_a_worker_whose_child_runs_while_it_is_stopped_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "STOP_S", 1.0)

    with pytest.raises(Fault, match=r"stand still|stood still") as caught:
        call_often(trial_of(WRONG / "child_wakes.cpp", ALL_GUARDS - {Guard.SANDBOX}))

    assert caught.value.outcome == Outcome.FORBIDDEN


@pytest.mark.alone
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


def test_every_kernel_on_disk_is_tried() -> None:
    assert {f.name for f in WRONG.iterdir() if f.is_file()} == {c.file for c in CHEATS} | APART
    assert {f.name for f in CORRECT.iterdir() if f.is_file()} == set(HONEST)

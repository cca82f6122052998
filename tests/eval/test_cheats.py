"""Every known cheat is refused for what it is, by the guard that is there for it; honest kernels pass."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from eval import channel, measure, trial
from eval.worker_process import ALL_GUARDS, Guard
from kb.evidence import Outcome
from tests.eval.judging import COMPILER, CORRECT, WRONG, judge, needs_linux, needs_sandbox

pytestmark = [needs_linux, pytest.mark.usefixtures("quick")]


@dataclass(frozen=True)
class Cheat:
    """A file of kernels/wrong: what it is tried on, and what must come of it.

    Args:
        guard: What catches it. None where nothing can be switched off: it gives nothing to accept.
        call_s: Longest time for a call; without the limit it is accepted.
        timed: It is right when checked, and cheats where time is measured.
        hidden: Sizes at which it is wrong; without them it is accepted.
    """

    file: str
    outcome: Outcome
    guard: Guard | None = None
    on: str = "scale"
    call_s: float | None = None
    timed: bool = False
    hidden: dict[str, int] = field(default_factory=dict)

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
    Cheat("hangs.cpp", Outcome.TIMED_OUT, call_s=2.0),
    Cheat("crashes_at_exit.cpp", Outcome.CRASHED, Guard.EXIT),
    Cheat("prints_pass.cpp", Outcome.FORGED, Guard.CHANNEL),
    Cheat("endless_line.cpp", Outcome.FORGED, Guard.CHANNEL),
    Cheat("returns_input.py", Outcome.ALIASED_INPUT, Guard.ALIASING, on="clone"),
    Cheat("mutates_input.cpp", Outcome.MUTATED_INPUT, Guard.MUTATION),
    Cheat("mutates_when_timed.cpp", Outcome.MUTATED_INPUT, Guard.MUTATION, timed=True),
    Cheat("writes_late.cpp", Outcome.LATE_OUTPUT, Guard.AT_ONCE),
    Cheat("caches_by_pointer.cpp", Outcome.STALE_OUTPUT, Guard.FRESH_INPUTS, timed=True),
    Cheat("skips_calls.cpp", Outcome.STALE_OUTPUT, Guard.COMPARISON, timed=True),
    Cheat("patches_timer.cpp", Outcome.CLOCKS_DISAGREE, Guard.CLOCKS, timed=True),
    Cheat("wakes_itself.cpp", Outcome.FORBIDDEN, Guard.PAUSE),
    Cheat("reads_parent.py", Outcome.FORBIDDEN, Guard.SANDBOX),
    Cheat("opens_socket.py", Outcome.FORBIDDEN, Guard.SANDBOX),
    Cheat("signals_parent.py", Outcome.FORBIDDEN, Guard.SANDBOX),
    Cheat("slows_parent.py", Outcome.FORBIDDEN, Guard.SANDBOX),
    Cheat("segfault.cpp", Outcome.CRASHED),
    Cheat("exits_early.cpp", Outcome.CRASHED),
    Cheat("exits_after_answer.cpp", Outcome.CRASHED),
    Cheat("says_passed.cpp", Outcome.FORGED),
    Cheat("answers_nonsense.cpp", Outcome.FORGED),
    Cheat("points_nowhere.cpp", Outcome.BAD_OUTPUT),
    Cheat("bad_shape.py", Outcome.BAD_OUTPUT),
    Cheat("bad_dtype.py", Outcome.BAD_OUTPUT),
    Cheat("lazy_output.py", Outcome.BAD_OUTPUT),
    Cheat("too_many_outputs.py", Outcome.BAD_OUTPUT),
    Cheat("no_output.py", Outcome.BAD_OUTPUT),
    Cheat("syntax_error.py.txt", Outcome.COMPILE_ERROR),
    Cheat("no_model.py", Outcome.COMPILE_ERROR),
    Cheat("does_not_compile.cpp", Outcome.COMPILE_ERROR),
    Cheat("no_model_new.cpp", Outcome.COMPILE_ERROR),
    Cheat("other_parameters.py", Outcome.INCOMPATIBLE_PARAMETERS, on="linear"),
    Cheat("wrong_answer.cpp", Outcome.INCOMPATIBLE_PARAMETERS, on="scaled_by"),
    Cheat("raises.py", Outcome.RAISED),
]
FUTILE = {
    "slow_to_answer.cpp": "scale",
    "works_ahead.cpp": "sines",
    "spins.cpp": "scale",
    "forks.cpp": "scale",
}
"""Cheats that are not refused because they gain nothing, and the tasks they are tried on."""
HONEST = {
    "scale_openmp.cpp": "scale",
    "total.cpp": "total",
    "linear.cpp": "linear",
    "linear_repacked.cpp": "linear",
    "extremes.cpp": "extremes",
    "sines.cpp": "sines",
    "linear_by_name.py": "linear",
    "linear_loaded.py": "linear",
    "scaled_by.py": "scaled_by",
}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rounds against the eager baseline alone, and a patience that a loaded machine does not outwear."""
    monkeypatch.setattr(measure.torch, "compile", _not_here)
    monkeypatch.setattr(measure, "LEAST_ROUNDS", 8)
    monkeypatch.setattr(measure, "MOST_ROUNDS", 8)
    monkeypatch.setattr(measure, "WIN_SESSIONS", 1)
    monkeypatch.setattr(trial, "SETTLE_S", 0.3)
    monkeypatch.setattr(channel, "MAX_LINE_BYTES", 1 << 19)


def _not_here(*_args: object, **_options: object) -> None:
    raise RuntimeError("no compiler in these tests")


def parameters(cheats: Sequence[Cheat]) -> list[object]:
    return [pytest.param(cheat, id=f"{cheat.file}-{cheat.on}", marks=_marks(cheat)) for cheat in cheats]


def _marks(cheat: Cheat) -> list[pytest.MarkDecorator]:
    return [needs_sandbox] if cheat.guard is Guard.SANDBOX else []


@pytest.fixture(autouse=True)
def compiler(request: pytest.FixtureRequest) -> None:
    if ".cpp" in request.node.name and COMPILER is None:
        pytest.skip("there is no C++ compiler")


@pytest.mark.parametrize("cheat", parameters(CHEATS))
def test_a_cheat_is_refused_for_what_it_is(cheat: Cheat) -> None:
    verdict = judge(
        cheat.path, cheat.on, **({"call_s": cheat.call_s} if cheat.call_s else {}), timed=cheat.timed,
        hidden=cheat.hidden,
    )  # fmt: skip

    assert verdict.outcome is cheat.outcome, verdict


@pytest.mark.parametrize("cheat", parameters([c for c in CHEATS if c.guard or c.call_s or c.hidden]))
def test_a_cheat_is_accepted_when_its_guard_is_off(cheat: Cheat) -> None:
    verdict = judge(cheat.path, cheat.on, ALL_GUARDS - {cheat.guard}, timed=cheat.timed)

    assert verdict.outcome is Outcome.PASSED, verdict


@pytest.mark.parametrize("file", HONEST)
def test_an_honest_kernel_passes(file: str) -> None:
    verdict = judge(CORRECT / file, HONEST[file], timed=True)

    assert verdict.outcome is Outcome.PASSED, verdict


def test_every_kernel_on_disk_is_tried() -> None:
    assert {f.name for f in WRONG.iterdir()} == {c.file for c in CHEATS} | set(FUTILE)
    assert {f.name for f in CORRECT.iterdir()} == set(HONEST)

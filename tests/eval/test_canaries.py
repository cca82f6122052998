"""A judge that misjudges a kernel whose verdict is known judges nothing on this machine."""

from functools import partial

import pytest

from eval.clock.canaries import TASK, Canaries
from eval.clock.timed_worker import Reply, TimedWorker
from eval.clock.timing import CallTime
from eval.languages.registry import TORCH
from eval.machine import sandbox_level
from eval.oracle.cases import Case, given_case
from eval.oracle.reference import Reference
from eval.supervisor.trial import Trial
from kb.errors import JudgeError
from kb.types.evidence import CaseResult, Outcome
from tests.eval.judging import PATIENCE_S, needs_linux

pytestmark = needs_linux
TRIAL_OF = partial(Trial, language=TORCH, level=sandbox_level(), call_s=PATIENCE_S)
CASE = given_case("canary", Reference(TASK, seed=0))


def check_canaries() -> None:
    with Canaries(TRIAL_OF, "cpu") as canaries:
        canaries.check()


def test_a_judge_that_works_passes_its_own_check() -> None:
    check_canaries()


@pytest.mark.parametrize(
    ("outcome", "message"),
    [(Outcome.PASSED, "one wrong element is passed"), (Outcome.INCORRECT, "is right is incorrect")],
)
def test_a_comparison_that_lets_all_or_nothing_pass_is_noticed(
    outcome: Outcome, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eval.clock.canaries.given_case", lambda name, reference: CASE)
    monkeypatch.setattr(Case, "compare", lambda case, outputs: CaseResult(name=case.name, outcome=outcome))
    with pytest.raises(JudgeError, match=message):
        check_canaries()


def test_a_clock_that_stands_still_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eval.clock.canaries.PAUSE_S", 0)
    time_call = TimedWorker.time_call
    stopped = CallTime(outside_us=10.0, inside_us=5.0)
    monkeypatch.setattr(TimedWorker, "time_call", lambda worker, x: Reply(stopped, time_call(worker, x).outputs))
    with pytest.raises(JudgeError, match=r"sleeps 50 us is measured as 0\.0 us slower"):
        check_canaries()

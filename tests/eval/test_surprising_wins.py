"""A win that is too good is checked again, on new cases in a new worker, before it counts."""

import os
from collections.abc import Sequence

import pytest

from eval.clock.sessions import POLICIES, _undecided
from eval.devices.cpu import Cpu
from eval.devices.device import Verdict
from eval.judge.task_judge import TaskJudge
from eval.oracle.cases import Case
from eval.supervisor.language import JudgedLanguage
from kb.types.evidence import Bottleneck, CaseResult, Grade, Outcome
from kb.types.kernels import Candidate, Task
from kb.types.target import Isa
from kb.types.timing import WIN_SESSIONS, Session, Timing
from tests.eval.judging import needs_linux
from tests.eval.test_seams import DOUBLED_SUM, Toy, toy

pytestmark = needs_linux
RIGHT, WRONG = toy("sum double"), toy("sum")


def judgement(speedup: float, reached: float, sessions: int = WIN_SESSIONS) -> Verdict:
    session = Session(
        baseline_us=(speedup,), candidate_us=(1.0,), inside_us=(1.0,), speedup=speedup, low=speedup, high=speedup
    )
    timing = Timing(baseline="eager", baselines_us={"eager": speedup}, sessions=(session,) * sessions)
    limit = Bottleneck(memory=reached, compute=0.0, citations=())
    return Verdict(grade=Grade.MEASURED, timing=timing, bottleneck=limit)


@pytest.mark.parametrize(("unseen_us", "doubtful"), [(0.0, False), (0.4, False), (0.6, True)])
def test_a_win_is_doubtful_if_a_call_could_work_as_long_unseen(unseen_us: float, doubtful: bool) -> None:
    timing = judgement(1.5, 0.5).timing
    sessions = [session.model_copy(update={"unseen_us": unseen_us}) for session in timing.sessions]

    assert timing.model_copy(update={"sessions": tuple(sessions)}).doubtful is doubtful


@pytest.mark.parametrize(
    ("speedup", "sessions", "device", "more"),
    [
        (1.1, WIN_SESSIONS, "cpu", True),
        (1.1, 2 * WIN_SESSIONS, "cpu", False),
        (1.5, WIN_SESSIONS, "cpu", False),
        (1.0, 1, "cpu", True),
        (1.0, WIN_SESSIONS, "cpu", False),
        (1.05, WIN_SESSIONS, "cpu", True),
        (1.04, WIN_SESSIONS, "cpu", False),  # not even twelve such sessions would show a win
        (0.8, 1, "cpu", False),
        (0.9, 1, "cuda", True),
        (0.8, 1, "cuda", False),
        (0.9, 2, "cuda", False),
    ],
)
def test_what_lucky_processes_may_have_given_takes_more_sessions(
    speedup: float, sessions: int, device: str, more: bool
) -> None:
    timing = judgement(speedup, 0.5, sessions).timing

    assert timing
    assert _undecided(timing, POLICIES[device]) is more


class Deceived(Cpu):
    """A device that finds every candidate right and always says the same."""

    languages = ("toy",)
    verdict: Verdict

    def judge(
        self, candidate: Candidate, language: JudgedLanguage, cases: Sequence[Case], results: list[CaseResult]
    ) -> Verdict:
        results += [CaseResult(name=case.name, outcome=Outcome.PASSED) for case in cases]
        return self.verdict


@pytest.fixture(scope="module")
def judge() -> TaskJudge:
    task = Task(name="doubled-sum", source=DOUBLED_SUM)
    return TaskJudge(task, "cpu", Isa("cpu", os.uname().machine), [], call_s=60.0, device=Deceived, languages=[Toy()])


VERDICTS = {
    "a large win": (judgement(3.5, 0.5), True),
    "a win near the roofline": (judgement(1.5, 0.97), True),
    "a common win": (judgement(1.5, 0.5), False),
    "no win, near the roofline": (judgement(0.9, 0.97), False),
    "too few sessions for a win": (judgement(3.5, 0.97, sessions=1), False),
}


@pytest.mark.parametrize(("verdict", "again"), VERDICTS.values(), ids=VERDICTS)
def test_only_a_surprising_win_is_checked_again(
    verdict: Verdict, again: bool, judge: TaskJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Deceived, "verdict", verdict, raising=False)

    right, wrong = judge.verify(RIGHT), judge.verify(WRONG)

    assert (right.outcome, right.timing) == (Outcome.PASSED, verdict.timing)
    assert (wrong.outcome is Outcome.INCORRECT) == again
    assert (len(right.cases) > len(wrong.cases)) == again

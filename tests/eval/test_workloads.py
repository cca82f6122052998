"""A task with several workloads: a candidate is tried and timed on each, one after the other."""

import os
from collections.abc import Sequence

import pytest

from eval.clock import sessions
from eval.clock.sessions import POLICIES, _undecided
from eval.devices.cpu import Cpu
from eval.devices.device import Verdict
from eval.judge import held_out_cases
from eval.judge.task_judge import TaskJudge
from eval.oracle.cases import Case
from eval.supervisor.language import JudgedLanguage
from eval.worker.fault import Fault
from kb.types.evidence import CaseResult, Evidence, Outcome
from kb.types.kernels import Candidate, Task
from kb.types.target import Isa
from kb.types.timing import WIN_SESSIONS
from tests.eval.judging import needs_linux
from tests.eval.test_seams import DOUBLED_SUM, CpuForToys, Toy, ToyChip, toy
from tests.eval.test_surprising_wins import judgement

pytestmark = needs_linux
SOURCE = DOUBLED_SUM.replace("ROWS, COLUMNS = 64, 32", "ROWS = 64\nCOLUMNS = 32")
TASK = Task(name="doubled-sum", source=SOURCE, workloads=tuple({"ROWS": rows} for rows in (64, 7, 16)))
FAILS_AT_7 = "double sum"
SPEEDUPS = {64: 2.0, 7: 1.0, 16: 1.5}


class Times(Cpu):
    """Tries a candidate as this CPU does, and gives invented times."""

    languages = ("toy",)
    open: list[int] = []  # noqa: RUF012 - of the class, because each workload has a device of its own
    timed_case = None  # type: ignore[assignment]

    def start(self) -> None:
        self.open.append(self.setup.workload["ROWS"])
        assert len(self.open) == 1

    def close(self) -> None:
        self.open.clear()

    def judge(
        self, candidate: Candidate, language: JudgedLanguage, cases: Sequence[Case], results: list[CaseResult]
    ) -> Verdict:
        self.trial(candidate, language).check(cases, results)
        rows = self.setup.workload["ROWS"]
        if rows == 7 and candidate.source == FAILS_AT_7:
            raise Fault(Outcome.STALE_OUTPUT, "an output of a timed call does not match its inputs")
        found = judgement(SPEEDUPS[rows], 0.5)
        assert found.timing
        timing = found.timing.model_copy(update={"workload": self.setup.workload})
        return Verdict(grade=found.grade, timing=timing)


@pytest.fixture(autouse=True)
def few_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_out_cases, "BUDGET_S", 0.0)


def verified(*sources: str, device: type = Times, isa: str = "cpu") -> list[Evidence]:
    judge = TaskJudge(TASK, "toy-1", Isa(isa, os.uname().machine), [], call_s=60.0, device=device, languages=[Toy()])
    try:
        return [judge.verify(toy(source)) for source in sources]
    finally:
        judge.close()


@pytest.mark.slow
def test_a_candidate_is_tried_and_timed_on_each_workload_in_turn_and_the_mean_counts() -> None:
    odd, right = verified(FAILS_AT_7, "sum double")

    assert odd.outcome is Outcome.STALE_OUTPUT
    assert odd.detail.endswith("(at the workload ROWS=7)")
    assert right.timing, "the next candidate is judged on all, too"
    assert [one.workload["ROWS"] for one in right.timing.workloads] == [64, 7, 16]
    assert right.speedup == pytest.approx(3.0 ** (1 / 3))
    assert sum(case.name == "sizes as given" for case in right.cases) >= len(TASK.workloads)


def test_each_workload_is_tried_with_other_values_than_the_task_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Times, "sizes", Times.sizes._replace(large=100))
    [right] = verified("sum double")

    assert [case.name for case in right.cases].count("sizes as given; mixed values") >= len(TASK.workloads)


@pytest.mark.slow
def test_this_cpu_times_each_workload_beside_its_own_baselines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "ATTEMPTS", 1)
    [right] = verified("sum double", device=CpuForToys)

    assert right.timing
    assert [one.workload["ROWS"] for one in right.timing.workloads] == [64, 7, 16]
    assert all(one.baseline in one.baselines_us for one in right.timing.workloads)


def test_without_a_clock_each_workload_is_tried_if_it_is_not_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ToyChip, "sizes", ToyChip.sizes._replace(given=7 * 33))
    [right] = verified("sum double", device=ToyChip, isa="toy")

    assert (right.outcome, right.timing) == (Outcome.PASSED, None)
    assert right.detail == "2 words; 2 of 3 workloads are too large to be tried here"
    assert [case.name for case in right.cases].count("sizes as given") == 1


@pytest.mark.parametrize(
    ("speedup", "count", "more"),
    [(2.0, 1, True), (2.0, WIN_SESSIONS, False), (0.97, 2, True), (0.97, WIN_SESSIONS, False), (0.5, 1, False)],
)
def test_a_workload_has_as_many_sessions_as_a_win_needs_unless_it_loses(speedup: float, count: int, more: bool) -> None:
    timing = judgement(speedup, 0.5, count).timing
    assert timing

    assert _undecided(timing.model_copy(update={"workload": {"ROWS": 7}}), POLICIES["cpu"]) is more

"""`kb bench skills`: arms differ only in evidence, every candidate is judged once, and a stopped benchmark goes on."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from kb.bench import skills
from kb.bench.skill_scores import Arm, SkillsReport, Step, interval, reached_by
from kb.bench.skills import SizedTask, SkillsBench, Verdicts, sized_task
from kb.errors import SourceError
from kb.model.evidence import Evidence, Grade, Outcome, Session, Timing
from kb.model.kernels import Candidate, Interface, Task, TensorSpec
from kb.targets import Targets

ROW_SUM = Path(__file__).parents[2] / "examples" / "row_sum.py"
BEST = {"ROWS": 2, "WIDTH": 128, "PREFETCH": 4096, "CHUNK": 16}
"""The fastest values of the parameters of kb/skills/row-sum-cpp, at all sizes; each step away from them is slower."""


class FakeJudge:
    """Gives the kernel a speed-up that falls with every parameter that is not the best."""

    judged: ClassVar[list[tuple[str, str]]] = []

    def __init__(self, task: Task, *, target: str, **_: object) -> None:
        self.task, self.target = task, target
        x = TensorSpec(name="x", shape=(64, 1024), dtype="float32")
        self.interface = Interface(inputs=(x,), state=(), outputs=(x,), init=())

    def verify(self, candidate: Candidate) -> Evidence:
        if candidate.language == "cpp":
            self.judged.append((self.task.digest, candidate.digest))
        away = sum(abs(p.choices.index(p.value) - p.choices.index(BEST[p.name])) for p in candidate.parameters)
        gain = 3.0 * 0.9**away
        session = Session(
            baseline_us=(1.0,), candidate_us=(1.0,), inside_us=(1.0,), speedup=gain, low=gain, high=gain
        )  # fmt: skip
        return Evidence(
            task=self.task.name, task_digest=self.task.digest, candidate_digest=candidate.digest, language="cpp",
            target=self.target, outcome=Outcome.PASSED, grade=Grade.MEASURED, sandbox_level=2, environment={},
            timing=Timing(baseline="eager", baselines_us={"eager": 1.0}, sessions=(session,) * 3),
            created=datetime.now(UTC).isoformat(),
        )  # fmt: skip

    def close(self) -> None:
        pass


Measure = Callable[..., tuple[SkillsReport, SkillsBench]]


@pytest.fixture
def measure(home: Path, monkeypatch: pytest.MonkeyPatch) -> Measure:
    monkeypatch.setattr(skills, "LocalJudge", FakeJudge)
    monkeypatch.setattr(FakeJudge, "judged", [])
    kb: Any = SimpleNamespace(
        targets=Targets.load(home), settings=SimpleNamespace(prompt_tokens=6000), known_facts=lambda target: ()
    )

    def measure(file: Path | None = None, **options: Any) -> tuple[SkillsReport, SkillsBench]:
        tasks = [sized_task(str(ROW_SUM)), sized_task(f"{ROW_SUM}@ROWS=64,COLS=65536")]
        bench = SkillsBench(kb, tasks, Verdicts(file), target="cpu-x86", **{"evaluations": 16} | options)
        return bench.measure(2, tell=lambda trial: None), bench

    return measure


def test_a_task_can_have_other_sizes_than_its_file() -> None:
    task = sized_task(f"{ROW_SUM}@ROWS=64,COLS=65536")

    assert task.label == "row-sum ROWS=64,COLS=65536"
    assert "ROWS = 64\n" in task.task.source
    assert "COLS = 65536\n" in task.task.source
    assert sized_task(str(ROW_SUM)) == SizedTask(
        label="row-sum", task=Task(name="row-sum", source=ROW_SUM.read_text(encoding="utf-8"))
    )


@pytest.mark.parametrize("change", ["DEPTH=3", "ROWS=x", "ROWS"])
def test_a_size_that_the_file_does_not_have_is_refused(change: str) -> None:
    with pytest.raises(SourceError, match="not a size") as refusal:
        sized_task(f"{ROW_SUM}@{change}")

    assert "ROWS, COLS" in refusal.value.hint


def test_skills_that_apply_bring_a_run_near_the_best_sooner(measure: Measure) -> None:
    report, bench = measure()

    scores = {score.arm: score for score in report.arms}
    assert (len(report.tasks), report.unfinished) == (2, 0)
    assert scores[Arm.WARM].fewer_evaluations.low > 1
    assert report.replay
    assert report.replay.evaluations.mean <= scores[Arm.COLD].evaluations.mean
    assert {t.skills for t in bench.trials if t.arm is Arm.COLD} == {0}
    assert {t.skills for t in bench.trials if t.arm is Arm.WARM} == {1}


def test_skills_of_another_target_change_nothing(measure: Measure) -> None:
    _, bench = measure()

    steps = {(t.task, t.seed, t.arm): [step.speedup for step in t.steps] for t in bench.trials}
    for (task, seed, arm), speedups in steps.items():
        if arm is Arm.WRONG_TARGET:
            assert speedups == steps[task, seed, Arm.COLD]


def test_each_candidate_is_judged_once_for_each_task_and_never_again_with_the_same_file(
    measure: Measure, tmp_path: Path
) -> None:
    first, _ = measure(tmp_path / "verdicts.jsonl")
    judged = list(FakeJudge.judged)

    second, _ = measure(tmp_path / "verdicts.jsonl")

    assert len(set(judged)) == len(judged)
    assert FakeJudge.judged == judged
    assert second == first


def test_a_benchmark_whose_time_is_up_says_what_is_missing_and_goes_on_later(measure: Measure, tmp_path: Path) -> None:
    stopped, _ = measure(tmp_path / "verdicts.jsonl", deadline=0.0)
    assert (stopped.unfinished, stopped.arms, FakeJudge.judged) == (2 * 2 * len(Arm), (), [])

    finished, _ = measure(tmp_path / "verdicts.jsonl")
    assert finished.unfinished == 0


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_text("{}\n", encoding="utf-8")

    with pytest.raises(SourceError, match="not a file of verdicts"):
        Verdicts(tmp_path / "other.jsonl")


# Scores


def steps(*speedups: float | None) -> list[Step]:
    return [Step(speedup=speedup, seconds=2.0) for speedup in speedups]


def test_a_run_is_near_the_best_at_its_first_kernel_within_5_percent() -> None:
    reached = reached_by(steps(1.0, None, 1.91, 2.0), best=2.0, evaluations=4)

    assert (reached.evaluations, reached.seconds, reached.near) == (3, 6.0, True)


def test_a_run_that_never_comes_near_counts_with_one_evaluation_more_than_it_had() -> None:
    reached = reached_by(steps(1.0, 1.5), best=2.0, evaluations=8)

    assert (reached.evaluations, reached.seconds, reached.near) == (9, 4.0, False)


def test_an_interval_contains_the_mean_of_the_tasks_and_is_wider_if_tasks_differ() -> None:
    alike, different = interval({"a": [1.0, 2.0], "b": [1.0, 2.0]}), interval({"a": [1.0, 1.0], "b": [9.0, 9.0]})

    assert (alike.mean, different.mean) == (1.5, 5.0)
    assert alike.low <= 1.5 <= alike.high
    assert different.high - different.low > alike.high - alike.low

"""`kb bench skills`: arms differ only in evidence, every candidate is judged once, and a stopped benchmark goes on."""

from collections.abc import Iterator
from datetime import UTC, datetime
from math import log
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar
from unittest.mock import ANY

import pytest

from kb.bench import skills
from kb.bench.skill_scores import Step, Trial, interval, reached_by, report
from kb.bench.skills import SizedTask, SkillsBench, Verdicts, sized_task
from kb.errors import SourceError
from kb.targets import Targets
from kb.types.evidence import Evidence, Grade, Outcome, Session, Timing
from kb.types.kernels import Candidate, Interface, Task, TensorSpec
from kb.types.skills_report import Arm, SkillsReport
from kb.usecases.toolchains import Toolchains

CUMSUM = Path(__file__).parents[2] / "examples" / "exclusive_cumsum.py"
BEST = {"BLOCK": 1024, "LANES": 16, "PREFETCH": 4096}
"""The fastest parameters of kb/skills/exclusive-cumsum-cpp, at all sizes; each step away from them is slower."""


class FakeJudge:
    """Gives the kernel a time that grows with every parameter that is not the best, and the baseline one by luck."""

    judged: ClassVar[list[tuple[str, str]]] = []

    def __init__(self, task: Task, *, target: str, **_: object) -> None:
        self.task, self.target = task, target
        x = TensorSpec(name="x", shape=(64, 1024), dtype="float32")
        self.interface = Interface(inputs=(x,), state=(), outputs=(x,), init=())

    def verify(self, candidate: Candidate) -> Evidence:
        if candidate.language == "cpp":
            self.judged.append((self.task.digest, candidate.digest))
        away = sum(abs(p.choices.index(p.value) - p.choices.index(BEST[p.name])) for p in candidate.parameters)
        time_us, baseline_us = 1 / (3.0 * 0.9**away), 1 + int(candidate.digest, 16) % 3 / 5
        gain = baseline_us / time_us
        session = Session(
            baseline_us=(baseline_us,), candidate_us=(time_us,), inside_us=(time_us,), speedup=gain, low=gain, high=gain
        )
        return Evidence(
            task=self.task.name, task_digest=self.task.digest, candidate_digest=candidate.digest, language="cpp",
            target=self.target, outcome=Outcome.PASSED, grade=Grade.MEASURED, sandbox_level=2, environment={},
            timing=Timing(baseline="eager", baselines_us={"eager": 1.0}, sessions=(session,) * 3),
            created=datetime.now(UTC).isoformat(),
        )  # fmt: skip

    def close(self) -> None:
        pass


Measured = tuple[SkillsReport, SkillsBench]


@pytest.fixture(scope="module")
def judged() -> Iterator[list[tuple[str, str]]]:
    """What the fake judge, which takes the place of the real one, judges in this module: task and candidate."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(skills, "LocalJudge", FakeJudge)
        yield FakeJudge.judged


def measure(file: Path, **options: Any) -> Measured:
    targets = Targets.load(file.parent)
    kb: Any = SimpleNamespace(
        targets=targets,
        toolchains=Toolchains(file.parent, targets),
        settings=SimpleNamespace(prompt_tokens=6000),
        known_facts=lambda target: (),
    )
    tasks = [sized_task(str(CUMSUM)), sized_task(f"{CUMSUM}@ROWS=64,COLS=65536")]
    bench = SkillsBench(kb, tasks, Verdicts(file), target="cpu-x86", evaluations=9, **options)
    return bench.measure(2, tell=lambda trial: None), bench


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bench") / "verdicts.jsonl"


@pytest.fixture(scope="module")
def finished(judged: list[tuple[str, str]], verdicts: Path) -> Measured:
    """A benchmark that ran to its end, which takes seconds."""
    return measure(verdicts)


def test_a_task_can_have_other_sizes_than_its_file() -> None:
    task = sized_task(f"{CUMSUM}@ROWS=64,COLS=65536")

    assert task.label == "exclusive-cumsum ROWS=64,COLS=65536"
    assert "ROWS = 64\n" in task.task.source
    assert "COLS = 65536\n" in task.task.source
    assert sized_task(str(CUMSUM)) == SizedTask(
        label="exclusive-cumsum", task=Task(name="exclusive-cumsum", source=CUMSUM.read_text(encoding="utf-8"))
    )


@pytest.mark.parametrize("change", ["DEPTH=3", "ROWS=x", "ROWS"])
def test_a_size_that_the_file_does_not_have_is_refused(change: str) -> None:
    with pytest.raises(SourceError, match="not a size") as refusal:
        sized_task(f"{CUMSUM}@{change}")

    assert "ROWS, COLS" in refusal.value.hint


def test_skills_that_apply_bring_a_run_near_the_best_sooner(finished: Measured) -> None:
    report, bench = finished

    scores = {score.arm: score for score in report.arms}
    assert (len(report.tasks), report.unfinished) == (2, 0)
    assert scores[Arm.WARM].fewer_evaluations.low > 1
    assert report.replay
    assert report.replay.evaluations.mean < scores[Arm.COLD].evaluations.mean
    assert {t.skills for t in bench.trials if t.arm is Arm.COLD} == {0}
    assert {t.skills for t in bench.trials if t.arm is Arm.WARM} == {1}


def test_the_luck_of_a_baseline_does_not_change_how_candidates_compare(finished: Measured) -> None:
    trials = finished[1].trials
    for task in {trial.task for trial in trials}:
        speedups = {s.speedup for trial in trials if trial.task == task for s in trial.steps if s.speedup}
        away = {round(log(max(speedups) / speedup) / log(1 / 0.9), 6) for speedup in speedups}
        assert all(steps == round(steps) for steps in away)


def test_skills_of_another_target_change_nothing(finished: Measured) -> None:
    steps = {(t.task, t.seed, t.arm): [step.speedup for step in t.steps] for t in finished[1].trials}

    for (task, seed, arm), speedups in steps.items():
        if arm is Arm.WRONG_TARGET:
            assert speedups == steps[task, seed, Arm.COLD]


def test_each_candidate_is_judged_once_for_each_task(finished: Measured, judged: list[tuple[str, str]]) -> None:
    assert finished
    assert len(set(judged)) == len(judged)


def test_a_benchmark_whose_time_is_up_says_what_is_missing_and_goes_on_later(
    finished: Measured, judged: list[tuple[str, str]], verdicts: Path, tmp_path: Path
) -> None:
    known = verdicts.read_bytes().splitlines(keepends=True)
    file = tmp_path / "verdicts.jsonl"
    file.write_bytes(b"".join(known[:6]) + known[6][:20])
    judged.clear()

    stopped, _ = measure(file, deadline=0.0)
    assert (stopped.unfinished, stopped.arms, judged) == (2 * 2 * len(Arm), (), [])

    assert measure(file)[0] == finished[0].model_copy(update={"arms": ANY, "replay": ANY})
    assert len(judged) == sum(b'"verdict"' in line for line in known[6:])


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


def test_the_gain_is_how_much_nearer_to_the_best_a_run_is_than_the_cold_one_after_each_evaluation() -> None:
    of_arm = dict.fromkeys(Arm, steps(1.0, None, 2.0)) | {Arm.WARM: steps(None, 1.5, 1.5)}
    trials = [Trial(task="a", seed=0, arm=arm, skills=0, steps=tuple(found)) for arm, found in of_arm.items()]

    found = report(trials, target="cpu-x86", evaluations=3, won={"a": True}, unfinished=0)

    gains = {score.arm: [gain.mean for gain in score.gains] for score in found.arms}
    assert gains[Arm.WARM] == [-0.5, 0.25, -0.25]
    assert gains[Arm.COLD] == gains[Arm.RANDOM] == [0.0, 0.0, 0.0]


def test_an_interval_contains_the_mean_of_the_tasks_and_is_wider_if_tasks_differ() -> None:
    alike, different = interval({"a": [1.0, 2.0], "b": [1.0, 2.0]}), interval({"a": [1.0, 1.0], "b": [9.0, 9.0]})

    assert (alike.mean, different.mean) == (1.5, 5.0)
    assert alike.low <= 1.5 <= alike.high
    assert different.high - different.low > alike.high - alike.low

"""Benchmarks of skills: arms differ only in evidence, every candidate is judged once, and scores follow from trials."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest

from benchmarks import skills
from benchmarks.near_best import Trial, compared, interval
from benchmarks.sized_task import EXAMPLES, sized_task
from benchmarks.skills import Arms
from kb.settings import Settings
from kb.types.evidence import Evidence, Grade, Outcome
from kb.types.kernels import Candidate, Interface, Task, TensorSpec
from kb.types.timing import Session, Timing
from kb.usecases.knowledge_base import KnowledgeBase

TASKS = ("exclusive_cumsum.py", "exclusive_cumsum.py@ROWS=64,COLS=65536")
RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
BEST = {"BLOCK": 1024, "LANES": 16, "PREFETCH": 4096}
"""The fastest parameters of kb/skills/exclusive-cumsum-cpp, at all sizes; each step away from them is slower."""
X = TensorSpec(name="x", shape=(64, 1024), dtype="float32")


class FakeJudge:
    """Gives the kernel a time that grows with every parameter that is not the best, and the baseline one by luck."""

    judged: ClassVar[list[tuple[str, str]]] = []

    def __init__(self, task: Task, *, target: str, **_: object) -> None:
        self.task, self.target = task, target

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


@pytest.fixture(scope="module")
def judged() -> Iterator[list[tuple[str, str]]]:
    """What the fake judge, which takes the place of the real one, judges in this module: task and candidate."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(skills, "LocalJudge", FakeJudge)
        patch.setattr(skills, "interface_of", lambda *_: Interface(inputs=(X,), state=(), outputs=(X,), init=()))
        yield FakeJudge.judged


def measured(folder: Path) -> dict[str, Any]:
    with KnowledgeBase(Settings(home=folder, embedding_model="none")) as kb:
        return Arms(kb, "cpu-x86", folder / "verdicts", 9).measured({text: sized_task(text) for text in TASKS}, 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bench")


@pytest.fixture(scope="module")
def finished(judged: list[tuple[str, str]], folder: Path) -> dict[str, Any]:
    """A benchmark that ran to its end, which takes seconds."""
    return measured(folder)


def test_a_task_can_have_other_sizes_than_its_file() -> None:
    source = sized_task(TASKS[1]).source

    assert "ROWS = 64\n" in source
    assert "COLS = 65536\n" in source
    assert sized_task(TASKS[0]).source == (EXAMPLES / TASKS[0]).read_text(encoding="utf-8")


@pytest.mark.parametrize("change", ["DEPTH=3", "ROWS=x", "ROWS"])
def test_a_size_that_the_file_does_not_have_is_refused(change: str) -> None:
    with pytest.raises(SystemExit, match=r"is not a size; exclusive_cumsum\.py has ROWS, COLS"):
        sized_task(f"{TASKS[0]}@{change}")


def test_skills_that_apply_bring_a_run_near_the_best_sooner(finished: dict[str, Any]) -> None:
    arms = finished["arms"]

    assert finished["nothing to win"] == []
    assert arms["warm"]["fewer evaluations"]["low"] > 1
    assert arms["warm"]["gain"][0]["low"] > 0
    assert arms["replay"]["evaluations"]["mean"] < arms["cold"]["evaluations"]["mean"]


def test_random_values_are_worth_less_than_those_that_won(finished: dict[str, Any]) -> None:
    arms = finished["arms"]

    assert arms["random"]["evaluations"]["mean"] > arms["warm"]["evaluations"]["mean"]


def test_the_luck_of_a_baseline_does_not_change_how_candidates_compare(finished: dict[str, Any]) -> None:
    for task in TASKS:
        speedups = {s for trial in finished["trials"] if trial["task"] == task for s in trial["speedups"]}
        shares = sorted({round(speedup / max(speedups), 6) for speedup in speedups}, reverse=True)
        assert set(shares) <= {round(0.9**steps, 6) for steps in range(30)}


def test_a_stopped_benchmark_goes_on_and_judges_no_candidate_twice(
    finished: dict[str, Any], judged: list[tuple[str, str]], folder: Path, tmp_path: Path
) -> None:
    assert len(set(judged)) == len(judged)
    judged.clear()

    assert measured(folder) == finished
    assert judged == []

    (tmp_path / "verdicts").mkdir()
    kept = 0
    for file in (folder / "verdicts").iterdir():
        lines = file.read_bytes().splitlines(keepends=True)
        (tmp_path / "verdicts" / file.name).write_bytes(b"".join(lines[:3]) + lines[3][:20])
        kept += len(lines) - 3
    assert measured(tmp_path)["trials"] == finished["trials"]
    assert len(judged) == kept


# Scores


def trial(arm: str, *speedups: float | None, task: str = "a") -> Trial:
    return Trial(task, 0, arm, speedups)


def test_a_run_is_near_at_its_first_kernel_within_5_percent_and_else_counts_with_one_evaluation_more() -> None:
    arms = compared([trial("cold", 1.0, 1.5), trial("warm", 1.0, None, 1.91, 2.0)], base="cold", evaluations=4)

    assert [(arm["evaluations"]["mean"], arm["near"]) for arm in arms.values()] == [(5, 0), (3, 1)]
    assert arms["warm"]["fewer evaluations"]["mean"] == pytest.approx(5 / 3)


def test_the_gain_is_how_much_nearer_to_the_best_a_run_is_than_the_base_after_each_evaluation() -> None:
    arms = compared([trial("cold", 1.0, None, 2.0), trial("warm", None, 1.5, 1.5)], base="cold", evaluations=3)

    assert [gain["mean"] for gain in arms["warm"]["gain"]] == [-0.5, 0.25, -0.25]
    assert [gain["mean"] for gain in arms["cold"]["gain"]] == [0, 0, 0]


def test_an_interval_contains_the_mean_of_the_tasks_and_is_wider_if_tasks_differ() -> None:
    alike, different = interval({"a": [1.0, 2.0], "b": [1.0, 2.0]}), interval({"a": [1.0, 1.0], "b": [9.0, 9.0]})

    assert (alike["mean"], different["mean"]) == (1.5, 5.0)
    assert alike["low"] <= 1.5 <= alike["high"]
    assert different["high"] - different["low"] > alike["high"] - alike["low"]


@pytest.mark.parametrize("name", ["skills-cpu-epyc.json", "skills-h100-after.json"])
def test_the_committed_scores_follow_from_the_committed_runs(name: str) -> None:
    committed = json.loads((RESULTS / name).read_bytes())
    counted = {task["task"] for task in committed["tasks"]}
    trials = [
        Trial(t["task"], t["seed"], t["arm"], tuple(step["speedup"] for step in t["steps"]))
        for t in committed["trials"]
        if t["task"] in counted
    ]

    found = compared(trials, base="cold", evaluations=committed["evaluations"])

    for arm in (*committed["arms"], committed["replay"]):
        scores = found[arm["arm"]]
        assert scores["near"] == arm["near"]
        assert scores["evaluations"] == pytest.approx(arm["evaluations"])
        assert scores["fewer evaluations"] == pytest.approx(arm["fewer_evaluations"])
        assert [gain["mean"] for gain in scores["gain"]] == pytest.approx([gain["mean"] for gain in arm["gains"]])

"""A run's report separates what skills gave from what the run found."""

from pathlib import Path

import pytest

from kb.cli.runs import show_runs
from kb.runs.credit import credit_of
from kb.runs.journal import Plan, Run, Runs, SynthesizerKind
from kb.skillbook.library import Skillbook
from kb.types.skill import Skill
from kb.views.runs import run_view
from synth.search.tune import TuneSynthesizer
from tests.runs.fakes import (
    TASK,
    FakeJudge,
    candidate,
    loop_of,
    speedup_of,
    template,
)  # fmt: skip


@pytest.fixture
def judge(tmp_path: Path) -> FakeJudge:
    return FakeJudge(tmp_path / "judged.log")


def library(tmp_path: Path, *skills: Skill) -> Path:
    for skill in skills:
        Skillbook(tmp_path / "library", shipped=tmp_path / "none").publish(skill)
    return tmp_path / "library" / "skills"


def start(home: Path, kind: SynthesizerKind = SynthesizerKind.TUNE, *, control: bool = False) -> Run:
    plan = Plan(task=TASK, target="cpu-x86", language="cpp", synthesizer=kind, evaluations=4, control=control)
    return Runs(home).start(plan)


def test_the_kernel_that_a_skill_held_and_what_the_run_found_are_told_apart(
    home: Path, tmp_path: Path, judge: FakeJudge
) -> None:
    run = start(home)
    loop_of(run, home, library(tmp_path, template())).optimize(TuneSynthesizer(), judge)

    credit = credit_of(run)

    assert credit.recalled
    assert (credit.recalled.attempt, credit.recalled.skill) == (1, "row-sum-template")
    assert credit.recalled.speedup == speedup_of(candidate())
    assert credit.found
    assert credit.found.speedup == max(a.evidence.speedup or 0.0 for a in run.attempts[1:])
    assert credit.gain == pytest.approx(credit.found.speedup / credit.recalled.speedup)


def test_the_report_of_a_run_says_what_skills_gave_and_what_the_run_found(
    home: Path, tmp_path: Path, judge: FakeJudge, capsys: pytest.CaptureFixture[str]
) -> None:
    run = start(home)
    loop_of(run, home, library(tmp_path, template())).optimize(TuneSynthesizer(), judge)

    show_runs([run_view(run)])

    credit, shown = credit_of(run), capsys.readouterr().out
    assert credit.recalled
    assert credit.found
    assert f"from skills: {credit.recalled.time_us:.1f} us, candidate 1, row-sum-template as it is\n" in shown
    assert f"found by the run: {credit.found.time_us:.1f} us, candidate {credit.found.attempt}, " in shown


def test_a_run_without_skills_found_everything_itself(home: Path, tmp_path: Path, judge: FakeJudge) -> None:
    run = start(home, SynthesizerKind.EXTERNAL)
    loop_of(run, home, library(tmp_path)).submit(candidate(), judge)

    credit = credit_of(run)

    assert (credit.recalled, credit.gain, credit.found and credit.found.attempt) == (None, None, 1)

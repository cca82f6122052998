"""A run's report separates what skills gave from what the run found, and each use of a skill leaves one record."""

from pathlib import Path

import pytest

from kb.cli.run_report import show_journal, summary
from kb.runs.credit import credit_of, outcome_of, uses_of
from kb.runs.journal import Plan, Run, Runs, SynthesizerKind
from kb.skillbook.library import Skillbook
from kb.types.evidence import Evidence, Outcome
from kb.types.skill import Skill
from kb.types.skill_record import SkillRecord
from synth.search.tune import TuneSynthesizer
from tests.runs.fakes import (
    BEST,
    INTERFACE,
    TASK,
    TEMPLATE,
    FakeJudge,
    book_of,
    candidate,
    evidence_of,
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


def uses(home: Path, shipped: Path, name: str) -> list[SkillRecord]:
    return [record for record in book_of(home, shipped).get(name).records if record.verb == "use"]


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

    show_journal(run)

    credit, shown = credit_of(run), capsys.readouterr().out
    assert credit.recalled
    assert credit.found
    assert f"from skills: {credit.recalled.speedup:.2f}x, candidate 1, row-sum-template as it is\n" in shown
    assert f"found by the run: {credit.found.speedup:.2f}x, candidate {credit.found.attempt}, " in shown
    assert summary(run)["credit"] == credit


def test_a_run_without_skills_found_everything_itself(home: Path, tmp_path: Path, judge: FakeJudge) -> None:
    run = start(home, SynthesizerKind.EXTERNAL)
    loop_of(run, home, library(tmp_path)).submit(candidate(), judge)

    credit = credit_of(run)

    assert (credit.recalled, credit.gain, credit.found and credit.found.attempt) == (None, None, 1)


def test_a_run_records_once_what_came_of_a_skill(home: Path, tmp_path: Path, judge: FakeJudge) -> None:
    shipped, run = library(tmp_path, template()), start(home)

    loop_of(run, home, shipped).optimize(TuneSynthesizer(), judge)

    (record,) = uses(home, shipped, "row-sum-template")
    assert (record.by, record.task, record.outcome) == (run.id, TASK.digest, "reproduced")
    assert book_of(home, shipped).value(book_of(home, shipped).get("row-sum-template")) == 1 / 5


def test_a_skill_that_is_refused_is_recorded_as_failed_and_comes_later_in_the_next_run(
    home: Path, tmp_path: Path, judge: FakeJudge
) -> None:
    shipped = library(tmp_path, template(), template(f"// wrong\n{TEMPLATE}", "row-sum-a"))
    for run in (start(home), start(home)):
        loop_of(run, home, shipped).optimize(TuneSynthesizer(), judge)

    assert {record.outcome for record in uses(home, shipped, "row-sum-a")} == {"failed"}
    assert "wrong" not in run.attempts[0].candidate.source


def test_a_control_run_records_nothing(home: Path, tmp_path: Path, judge: FakeJudge) -> None:
    shipped, run = library(tmp_path, template()), start(home, control=True)

    loop_of(run, home, shipped).optimize(TuneSynthesizer(), judge)

    assert uses(home, shipped, "row-sum-template") == []


def test_a_submitted_kernel_counts_for_the_skills_that_its_prompt_offered(
    home: Path, tmp_path: Path, judge: FakeJudge
) -> None:
    shipped, run = library(tmp_path, template()), start(home, SynthesizerKind.EXTERNAL)
    loop = loop_of(run, home, shipped)
    assert loop.prompt(INTERFACE).skills == ("row-sum-template",)

    loop.submit(candidate(**BEST), judge)
    assert uses_of(run).keys() == {"row-sum-template"}
    loop.submit(candidate(UNROLL=8), judge)

    (own,) = run.published
    assert own in run.attempts[-1].skills_used
    assert uses_of(run).keys() == {"row-sum-template"}, "what the run published itself is no use"


REFUSED, UNBUILT = Outcome.INCORRECT, Outcome.COMPILE_ERROR


@pytest.mark.parametrize(
    ("verdicts", "outcome"),
    [
        ([evidence_of(candidate(), outcome=REFUSED), evidence_of(candidate())], "reproduced"),
        ([evidence_of(candidate(), speedup=0.9), evidence_of(candidate(), outcome=REFUSED)], "no_win"),
        ([evidence_of(candidate(), outcome=REFUSED), evidence_of(candidate(), outcome=UNBUILT)], "failed"),
        ([evidence_of(candidate(), outcome=UNBUILT)], "inapplicable"),
    ],
)
def test_the_best_verdict_on_what_was_made_from_a_skill_is_its_outcome(verdicts: list[Evidence], outcome: str) -> None:
    assert outcome_of(verdicts) == outcome

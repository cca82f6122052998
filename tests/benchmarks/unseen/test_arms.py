"""Arms of the benchmark of an unseen chip: what an author gets, how trials go on, and how arms are compared."""

import json
import shlex
import sys

import pytest

from benchmarks.unseen import arms, kernels, toolchain
from benchmarks.unseen.arms import Arm, advance, anchors, trials
from benchmarks.unseen.chip import chip
from benchmarks.unseen.report import collected, compared, plot, table
from tests.eval.judging import needs_linux

SEED, TASK = 5, "gather"


def answer(source):
    return f"note: a kernel\n\n```asm\n{source}```\n"


@pytest.fixture
def trial(tmp_path, monkeypatch):
    monkeypatch.setattr(arms, "make", lambda seed, folder: toolchain.write(seed, folder / arms.TOOLCHAIN))
    return next(trials(tmp_path, [SEED], [Arm.NOTHING], [TASK], 1))


@needs_linux
@pytest.mark.slow
def test_a_trial_waits_for_each_answer_and_is_over_when_one_passes(trial, tmp_path):
    assert not advance(trial, tmp_path)
    assert "There are no documents." in trial.file("prompt", 1).read_text()
    trial.file("answer", 1).write_text(answer("nothing of this chip\n"))
    trial.file("read", 1, ".txt").write_text("four")
    trial.file("shown", 1).write_text("seven 7")
    assert not advance(trial, tmp_path)
    assert "unknown instruction" in trial.file("prompt", 2).read_text()
    trial.file("answer", 2).write_text(answer(kernels.naive(chip(SEED), TASK)))
    assert advance(trial, tmp_path)
    first, second = trial.verdicts()
    assert (first["outcome"], first["read_characters"], first["shown_characters"]) == ("unsupported", 4, 7)
    assert second["shown_characters"] == second["prompt_characters"]
    assert second["cycles"] == second["naive_cycles"] > second["expert_cycles"]


@needs_linux
def test_a_command_is_asked_for_each_answer_until_its_attempts_are_over(trial, tmp_path, monkeypatch):
    monkeypatch.setattr(arms, "ATTEMPTS", 2)
    code = "import sys, pathlib; pathlib.Path(sys.argv[2]).write_text('no kernel')"
    assert advance(trial, tmp_path, shlex.join([sys.executable, "-c", code, "{prompt}", "{answer}"]))
    assert [verdict["outcome"] for verdict in trial.verdicts()] == ["no_candidate", "no_candidate"]


def test_anchors_order_the_kernels():
    found = anchors(SEED, TASK)
    assert 0 < found["least_cycles"] <= found["expert_cycles"] < found["naive_cycles"]


def test_arms_are_compared_over_the_pairs_that_both_have(tmp_path):
    outcomes = {Arm.RAW: ["incorrect", "passed"], Arm.KB: ["passed"], Arm.NOTHING: ["incorrect"] * arms.ATTEMPTS}
    for arm, said in outcomes.items():
        for task in ("softmax", "gather"):
            folder = tmp_path / "seed-1" / task / arm / "1"
            folder.mkdir(parents=True)
            for number, outcome in enumerate(said, 1):
                counted = dict.fromkeys(("shown_characters", "read_characters", "answer_characters"), 10)
                verdict = counted | {"outcome": outcome, "cycles": 300, "expert_cycles": 100, "least_cycles": 50}
                (folder / f"verdict-{number}.json").write_text(json.dumps(verdict))
    found = collected(tmp_path)
    result = compared(found)
    assert result["kb"]["correct at once"]["mean"] == 1
    assert result["kb"]["correct at once"]["against raw"] == [1, 1, 1]
    assert result["raw"]["cycles over expert"]["mean"] == pytest.approx(3)
    assert result["raw"]["cycles over bound"]["mean"] == pytest.approx(6)
    assert result["nothing"]["cycles over expert"]["mean"] is None
    assert result["nothing"][f"attempts ({arms.ATTEMPTS + 1}: never)"]["mean"] == arms.ATTEMPTS + 1
    assert "| kb | 1.00 [1.00, 1.00]" in table(result)
    pytest.importorskip("matplotlib")
    plot(found, tmp_path / "report.svg")
    assert (tmp_path / "report.svg").stat().st_size


def test_a_trial_that_is_not_over_is_not_counted(tmp_path):
    folder = tmp_path / "seed-1" / "softmax" / "kb" / "1"
    folder.mkdir(parents=True)
    (folder / "verdict-1.json").write_text(json.dumps({"outcome": "incorrect"}))
    assert not collected(tmp_path)

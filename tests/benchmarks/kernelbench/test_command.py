"""`python -m benchmarks.kernelbench` on a few made-up problems: what it prints, keeps and refuses."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks.kernelbench.__main__ import main
from tests.benchmarks.kernelbench.test_suite import written_suite
from tests.cli.test_kernels import RIGHT, needs_compiler, needs_linux


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return written_suite(tmp_path)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> object:
    """Exit status, or the error message, of the command in this process."""
    monkeypatch.setattr(sys, "argv", ["kernelbench", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


@pytest.mark.slow  # three audits and two verdicts, each in processes of their own
@needs_linux
@needs_compiler
@pytest.mark.usefixtures("judge_here", "home")
def test_the_command_audits_judges_and_reports(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    mine, out, audits = tmp_path / "mine", tmp_path / "results.jsonl", tmp_path / "audits.json"
    mine.mkdir()
    (mine / "1_right.cpp").write_text(RIGHT)
    (mine / "2_wrong.cpp").write_text(RIGHT.replace("+ 1", "+ 2"))
    command = (suite, "--candidates", mine, "--target", "cpu-x86", "--out", out)

    assert run(monkeypatch, *command, "--audits", audits) == 0
    printed = capsys.readouterr().out
    assert run(monkeypatch, *command, "--json") == 0
    again = json.loads(capsys.readouterr().out)

    assert "level1/10_Same: refused: an answer that computes nothing passes: input 0" in printed
    assert "level1/1_Double: 1_right.cpp: passed" in printed
    assert "level1/2_Triple: 2_wrong.cpp: incorrect" in printed
    assert "fast_1.5" in printed
    assert again["audits"] == {"usable": 2, "refused": 1}
    assert again["outcomes"] == {"passed": 1, "incorrect": 1}
    assert len(out.read_text().splitlines()) == 5, "nothing was done twice"
    assert json.loads(audits.read_text())["verdicts"] == {"level 1": {"usable": 2, "refused": 1}}


@pytest.mark.parametrize(
    "options",
    [
        ("--problems", "a"),
        ("--baselines",),
        ("--candidates", "nowhere", "--target", "cpu-x86"),
    ],
    ids=str,
)
def test_wrong_usage_is_refused(suite: Path, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, suite, *options) == 2


def test_a_file_that_cannot_be_written_is_an_error_before_anything_is_measured(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = run(monkeypatch, suite / "KernelBench", "--out", suite / "nowhere" / "out.json")

    assert str(refused).startswith("error: ")
    assert "nowhere" in str(refused)

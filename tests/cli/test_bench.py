"""`kb bench kernelbench` on a few made-up problems: what it prints, keeps and refuses."""

from pathlib import Path

import pytest

from tests.bench.test_kernelbench import written_suite
from tests.cli.conftest import Run
from tests.cli.test_kernels import RIGHT, needs_compiler, needs_linux


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return written_suite(tmp_path)


@pytest.mark.slow  # three audits and two verdicts, each in processes of their own
@needs_linux
@needs_compiler
@pytest.mark.usefixtures("judge_here", "home")
def test_the_command_audits_judges_and_reports(run: Run, suite: Path, tmp_path: Path) -> None:
    mine, out = tmp_path / "mine", tmp_path / "results.jsonl"
    mine.mkdir()
    (mine / "1_right.cpp").write_text(RIGHT)
    (mine / "2_wrong.cpp").write_text(RIGHT.replace("+ 1", "+ 2"))
    command = ("bench", "kernelbench", suite, "--candidates", mine, "--target", "cpu-x86", "--out", out)

    printed = run(*command)
    again = run(*command, "--json")

    assert "level1/10_Same: refused: an answer that computes nothing passes: input 0" in printed.out
    assert "level1/1_Double: 1_right.cpp: passed" in printed.out
    assert "level1/2_Triple: 2_wrong.cpp: incorrect" in printed.out
    assert "fast_1.5" in printed.out
    assert again.json["audits"] == {"usable": 2, "refused": 1}
    assert again.json["outcomes"] == {"passed": 1, "incorrect": 1}
    assert len(out.read_text().splitlines()) == 5, "nothing was done twice"


@pytest.mark.parametrize(
    "options",
    [
        ("--problems", "a"),
        ("--baselines",),
        ("--candidates", "nowhere", "--target", "cpu-x86"),
    ],
    ids=str,
)
def test_wrong_usage_is_refused(run: Run, suite: Path, options: tuple[str, ...]) -> None:
    assert run("bench", "kernelbench", suite, *options).status == 2


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (("judge", "--quick", "--out"), 2),
        (("kernelbench", "KernelBench", "--out"), 1),
    ],
    ids=str,
)
@pytest.mark.usefixtures("home")
def test_a_file_that_cannot_be_written_is_an_error_before_anything_is_measured(
    run: Run, suite: Path, command: tuple[str, ...], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(suite)

    refused = run("bench", *command, suite / "nowhere" / "out.json")

    assert refused.status == status
    assert "nowhere" in refused.err
    assert "Traceback" not in refused.err

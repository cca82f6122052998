"""Plots are an extra: matplotlib draws them where it is installed, and nothing else asks for it."""

import sys
from pathlib import Path

import pytest
import typer

from kb.cli.run_report import finish
from kb.runs.journal import Plan, Runs, SynthesizerKind
from kb.runs.journal import Run as KernelRun
from kb.types.kernels import Task
from tests.cli.conftest import Run


@pytest.fixture
def started(home: Path) -> KernelRun:
    plan = Plan(
        task=Task(name="t", source="x"), target="h200", language="triton",
        synthesizer=SynthesizerKind.TUNE, evaluations=1,
    )  # fmt: skip
    return Runs(home).start(plan)


@pytest.fixture
def without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)


def test_the_progress_of_a_run_is_drawn_as_a_png(run: Run, started: KernelRun, tmp_path: Path) -> None:
    assert run("runs", "show", started.id, "--plot", tmp_path / "p.png").status == 0

    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_that_ends_is_drawn_beside_its_journal(started: KernelRun, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        finish(started, as_json=False)

    assert f"journal and plot: {started.folder}" in capsys.readouterr().out
    assert (started.folder / "progress.png").exists()


@pytest.mark.usefixtures("without_matplotlib")
def test_a_plot_without_matplotlib_is_refused_with_what_to_install(
    run: Run, started: KernelRun, tmp_path: Path
) -> None:
    message, hint = run("runs", "show", started.id, "--plot", tmp_path / "p.png").refusal

    assert "matplotlib is not installed" in message
    assert "pip install 'kb-hardware[plot]'" in hint
    assert not (tmp_path / "p.png").exists()


@pytest.mark.usefixtures("without_matplotlib")
def test_a_run_that_ends_without_matplotlib_notes_that_it_has_no_plot(
    started: KernelRun, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit):
        finish(started, as_json=False)

    shown = capsys.readouterr()
    assert shown.err == "note: no plot was drawn: matplotlib is not installed\n"
    assert f"journal: {started.folder}" in shown.out
    assert not (started.folder / "progress.png").exists()

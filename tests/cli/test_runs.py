"""Runs are compared by the times of their kernels. Plots are an extra, for which matplotlib has to be installed."""

import re
import sys
from pathlib import Path

import pytest
import typer
from matplotlib.figure import Figure

from kb.cli.plot import draw
from kb.cli.runs import finish, show_runs
from kb.runs.entries import JournalEntry
from kb.runs.journal import Plan, Runs, SynthesizerKind
from kb.runs.journal import Run as KernelRun
from kb.types.evidence import Grade, Outcome
from kb.types.protocols import Proposal
from kb.views.runs import run_view
from tests.cli.conftest import Run
from tests.runs.fakes import TASK, candidate, evidence_of


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


def compared(home: Path) -> list[KernelRun]:
    """Two runs for one task: the first has the higher speed-up, because its baselines were slow, the second the faster
    kernel."""
    runs = []
    for baseline_us, speedups in ((300.0, (2.0, None, 3.0)), (100.0, (1.2, 2.5))):
        plan = Plan(
            task=TASK, target="cpu-x86", language="cpp", synthesizer=SynthesizerKind.TUNE, evaluations=3,
        )  # fmt: skip
        run = Runs(home).start(plan)
        for step, speedup in enumerate(speedups, start=1):
            outcome = Outcome.PASSED if speedup else Outcome.INCORRECT
            evidence = evidence_of(candidate(UNROLL=step), outcome=outcome, speedup=speedup, baseline_us=baseline_us)
            detail = "" if speedup else "the first wrong element\nis at [7]"
            evidence = evidence.model_copy(update={"detail": detail})
            proposal = Proposal(candidate=candidate(UNROLL=step), note=f"unroll by {step}")
            run.append(JournalEntry(kind="proposed", step=step, proposal=proposal))
            run.append(JournalEntry(kind="judged", step=step, evidence=evidence))
        runs.append(run)
    return runs


def test_runs_are_compared_by_the_times_of_their_kernels(run: Run, home: Path) -> None:
    first, second = compared(home)

    shown = run("runs", "show", first.id, second.id).out

    table = shown.partition("best kernel")[2]
    assert re.search(rf"{first.id} +100.0 +95.2 to 105.1 +3.00x eager\n", table)
    assert re.search(rf"{second.id} +40.0 +38.1 to 42.0 +2.50x eager\n", table)
    curves = [line.split() for line in table.partition("after each candidate:\n")[2].splitlines()]
    assert curves[1:] == [["1", "150.0", "83.3"], ["2", "150.0", "40.0"], ["3", "100.0", "-"]]


def test_a_candidate_is_shown_with_its_time_its_interval_and_the_baseline_of_its_speed_up(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, _ = compared(home)

    show_runs([run_view(first)])

    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"  1 +150.0 us \(142.7 to 157.6\) +2.00x eager +unroll by 1", lines[2])
    assert re.fullmatch(r"  2  incorrect +unroll by 2", lines[3])
    assert lines[4] == "     the first wrong element is at [7]"


def test_cycles_of_a_simulator_are_shown_as_such(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, _ = compared(home)
    found = first.attempts[0].evidence.model_copy(update={"cycles": 1700, "timing": None, "grade": Grade.SIMULATED})
    first.append(JournalEntry(kind="judged", step=1, evidence=found))

    show_runs([run_view(first)])

    assert re.search(r"  1 +1,700 cycles +unroll by 1\n", capsys.readouterr().out)


def test_a_run_that_had_no_kernel_to_try_says_how_to_get_one(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = Plan(task=TASK, target="cpu-x86", language="cpp", synthesizer=SynthesizerKind.TUNE, evaluations=3)
    run = Runs(home).start(plan)
    run.append(JournalEntry(kind="ended", step=0, text="tune has nothing left to try"))

    show_runs([run_view(run)])

    assert "somebody has to write one: `--author claude-opus-5-5 --budget 2usd`" in capsys.readouterr().out


def test_a_comparison_fits_a_screen_of_80_columns(on_screen: Run, home: Path) -> None:
    first, second = compared(home)

    shown = on_screen("runs", "show", first.id, second.id)

    assert [line for line in shown.out.splitlines() if len(line) > 80] == []


def test_the_axis_of_a_plot_is_time(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))

    draw([run_view(one) for one in compared(home)], tmp_path / "p.png")

    (axes,) = drawn[0].axes
    assert axes.get_ylabel() == "time of one call in us; less is better"
    assert [list(line.get_ydata()) for line in axes.lines if line.get_drawstyle() == "steps-post"] == [
        [150.0, 150.0, 100.0],
        [pytest.approx(250 / 3), 40.0],
    ]

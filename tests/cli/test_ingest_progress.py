"""The progress of an ingest: its phase, what is done, and a remaining time as soon as it can be told."""

import os
import pty
import re
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.cli import ingest_progress as shown
from kb.types.documents import Progress
from tests.cli.conftest import Run


def reading(share: float, done: int = 3) -> Progress:
    return Progress(phase="reading", done=done, total=1234, share=share)


def line_after(seconds: float, progress: Progress) -> str:
    """The line about a phase that has lasted so long."""
    times = iter((100.0, 100.0 + seconds))
    state = shown.State(clock=lambda: next(times))
    state.update(progress.model_copy(update={"done": 0, "share": 0}))
    state.update(progress)
    return state.line


@pytest.mark.parametrize(
    ("seconds", "progress", "line"),
    [
        (2, reading(0.5), "reading: 3 of 1,234 files"),
        (100, reading(0.01), "reading: 3 of 1,234 files"),
        (10, reading(0.5), "reading: 3 of 1,234 files, about 10 s left"),
        (60, reading(0.2), "reading: 3 of 1,234 files, about 4 min left"),
        (60, reading(1.0), "reading: 3 of 1,234 files"),
    ],
)
def test_a_line_names_the_phase_and_what_is_done_and_the_time_left_once_it_can_be_told(
    seconds: float, progress: Progress, line: str
) -> None:
    assert line_after(seconds, progress) == line


@given(st.floats(shown.LEAST_S, 1e5), st.floats(shown.LEAST_SHARE, 0.99))
def test_the_time_left_is_that_of_the_rest_at_the_rate_of_the_phase_so_far(seconds: float, share: float) -> None:
    line = line_after(seconds, reading(share))

    number, unit = re.findall(r"about ([\d.]+) (s|min) left", line)[0]
    assert float(number) * {"s": 1, "min": 60}[unit] == pytest.approx(seconds / share - seconds, rel=0.35, abs=1)


def test_each_phase_has_its_own_rate() -> None:
    times = iter((0.0, 1000.0, 1020.0))
    state = shown.State(clock=lambda: next(times))

    for progress in (
        reading(0),
        Progress(phase="embedding", done=0, total=9, share=0),
        Progress(phase="embedding", done=3, total=9, share=0.5),
    ):
        state.update(progress)

    assert state.line == "embedding: 3 of 9 passages, about 20 s left"


def test_without_a_terminal_a_line_comes_from_time_to_time_even_if_nothing_ends(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown, "LINE_S", 0.05)

    with shown.ingest_progress(quiet=False) as progress:
        progress(reading(0.5))
        time.sleep(0.4)

    lines = capsys.readouterr().err.splitlines()
    assert set(lines) == {"reading: 3 of 1,234 files"}
    assert len(lines) > 2


def test_a_quiet_ingest_shows_no_progress(run: Run, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown, "LINE_S", 0.0)

    assert run("ingest", docs, "--json").err == ""


def test_a_terminal_shows_a_bar_with_the_same_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    ours, its = pty.openpty()
    with os.fdopen(its, "w", encoding="utf-8") as terminal, monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", terminal)
        with shown.ingest_progress(quiet=False) as progress:
            progress(reading(0.5))
            time.sleep(0.3)
        written = os.read(ours, 1 << 16).decode()
    os.close(ours)

    assert "reading: 3 of 1,234 files" in written

"""`kb report` writes a run as a page or as Markdown, and again as the run goes on."""

import time
from pathlib import Path

import pytest

from kb.runs.entries import JournalEntry
from tests.cli.conftest import Run
from tests.runs.fakes import candidate
from tests.web.fakes import judge, propose, started, whole_run


def test_a_run_is_written_as_a_page_or_as_markdown(run: Run, home: Path, tmp_path: Path) -> None:
    of = whole_run(home).id

    for name, begin in (("r.html", "<!doctype html>"), ("r.md", "# `row-sum` on `cpu-x86`")):
        done = run("report", of, "--output", tmp_path / name)

        assert (done.status, done.out, done.err) == (0, "", f"note: written: {tmp_path / name}\n")
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(begin)


def test_without_a_name_the_page_has_that_of_the_run(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    of = whole_run(home).id

    assert run("report", of[-4:]).status == 0

    assert (tmp_path / f"{of}.html").exists()


def test_the_report_is_printed_as_json(run: Run, home: Path) -> None:
    shown = run("report", whole_run(home).id, "--json").json

    assert (shown["best"], len(shown["candidates"]), shown["refusals"][0]["candidates"]) == (2, 4, [3])


@pytest.mark.parametrize("name", ["r.pdf", "r"])
def test_a_file_of_another_kind_is_refused(name: str, run: Run, home: Path, tmp_path: Path) -> None:
    message, hint = run("report", started(home).id, "--output", tmp_path / name).refusal

    assert message.startswith("a report is no ")
    assert hint == "name a .html or a .md file"


def test_a_file_that_cannot_be_written_is_one_error(run: Run, home: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    message, _ = run("report", started(home).id, "--output", tmp_path / "file" / "r.html").refusal

    assert message.startswith(f"cannot write {tmp_path / 'file' / 'r.html'}: ")


def test_a_run_that_goes_on_is_written_again_until_it_ends(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of, page, seen = started(home), tmp_path / "r.html", []

    def go_on(pause_s: float) -> None:
        """What the run does while kb waits."""
        seen.append(page.read_text(encoding="utf-8").count("<details open>"))
        if len(seen) == 2:
            judge(of, propose(of, candidate()))
        if len(seen) == 4:
            of.append(JournalEntry(kind="ended", step=2, text="no more"))

    monkeypatch.setattr(time, "sleep", go_on)

    assert run("report", of.id, "--output", page, "--watch").status == 0

    assert seen == [0, 0, 1, 1]
    assert "ended: no more" in page.read_text(encoding="utf-8")

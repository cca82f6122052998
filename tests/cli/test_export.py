"""`kb export` writes runs in the forms of other tools and says what it wrote."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.web.fakes import whole_run


def test_what_was_written_is_counted(run: Run, home: Path, tmp_path: Path) -> None:
    of, out = whole_run(home).id, tmp_path / "out"

    done = run("export", of[-4:], "--as", "failures", "--output", out)

    assert (done.status, done.out.splitlines()[0], done.err) == (0, f"     1  {out}/failures.jsonl", "")


def test_what_is_left_out_is_a_note_with_its_reason(run: Run, home: Path, tmp_path: Path) -> None:
    done = run("export", whole_run(home).id, "--as", "kernelbench", "--level", "1", "-o", tmp_path / "out")

    assert done.err == "note: left out of 4 attempts: a kernel in cpp is no Python file\n"


def test_the_export_is_printed_as_json(run: Run, home: Path, tmp_path: Path) -> None:
    of = whole_run(home).id

    shown = run("export", of, "--as", "failures", "-o", tmp_path / "out", "--json").json

    assert (shown["form"], shown["runs"], shown["held_back"]) == ("failures", [of], 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--as", "csv"), "kb exports no csv"),
        (("--as", "hub"), "a package for the Hub names its licence"),
        (("--as", "failures", "--held-out", "."), ". holds no task"),
    ],
)
def test_a_wrong_argument_is_refused(
    arguments: tuple[str, ...], message: str, run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")

    assert run("export", whole_run(home).id, *arguments, "-o", tmp_path / "out").refusal[0] == message

"""A home that may not be written: reading commands work, writing ones are refused in two lines."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.cli.conftest import CONFINED, Outcome, Run, documents, forget_sheets, one_after_the_other

READING = [
    ("search", "local data share", "--target", "mi210"),
    ("context", "local data share"),
    ("facts", "mi210"),
    ("cite", "{id}"),
    ("targets", "list"),
    ("targets", "show", "mi210"),
]

INGEST_AND_DIE = """
import os, signal, sys
from kb.usecases.knowledge_base import KnowledgeBase
from kb.settings import Settings
KnowledgeBase(Settings.load()).ingest([sys.argv[1]])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def read_only(run: Run, stored: Path, tmp_path: Path) -> Iterator[Path]:
    """The home of `stored`, which nobody may write; `run_confined` obeys that even as root."""
    shared = tmp_path / "general"
    shared.mkdir()
    (shared / "roofline.md").write_text("# Roofline\n\nThe roofline bounds every kernel.\n", encoding="utf-8")
    assert run("ingest", shared, "--target", "amd").status == 0
    forget_sheets(stored)
    yield from protected(stored)


def protected(home: Path) -> Iterator[Path]:
    for file in home.iterdir():
        file.chmod(0o444)
    home.chmod(0o555)
    probe = [sys.executable, str(CONFINED), "-c", f"import os; print(os.access({str(home)!r}, os.W_OK))"]
    if subprocess.run(probe, capture_output=True, text=True, check=True).stdout != "False\n":
        pytest.skip("file permissions do not hold for this user")
    yield home
    home.chmod(0o755)


def confined(*commands: Sequence[str | Path]) -> list[Outcome]:
    """What each command leaves behind, in one process like those of `run_confined`."""
    return one_after_the_other(commands, sys.executable, CONFINED)[0]


def test_a_home_that_cannot_be_created_is_refused(docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "locked").mkdir()
    monkeypatch.setenv("KB_HOME", str(tmp_path / "locked" / "home"))

    for folder in protected(tmp_path / "locked"):
        for outcome in confined(("search", "lds"), ("facts", "mi210"), ("ingest", docs)):
            message, hint = outcome.refusal
            assert str(folder / "home") in message
            assert "KB_HOME" in hint
        assert list(folder.iterdir()) == []


@pytest.mark.parametrize(("commands", "mode"), [(READING, 0o444), (READING[:1], 0o644)], ids=["0o444", "0o644"])
def test_a_home_that_cannot_be_written_can_be_read(
    run: Run, read_only: Path, commands: list[tuple[str, ...]], mode: int
) -> None:
    citation = run("facts", "mi210", "lds_size", "--json").json["facts"][0]["id"]
    asked = [[part.format(id=citation) for part in command] for command in commands]
    expected = [run(*command).out for command in asked]
    (read_only / "catalog.sqlite").chmod(mode)

    assert confined(*asked) == [Outcome(0, out, "") for out in expected]


def test_sheets_missing_from_a_read_only_home_are_reported_in_a_note(run_confined: Run, read_only: Path) -> None:
    outcome = run_confined("search", "roofline", "--target", "mi300x")

    assert outcome.status == 0
    assert "The roofline bounds every kernel." in outcome.out
    assert outcome.err.startswith("note: the sheets")
    assert len(outcome.err.splitlines()) == 1


@pytest.mark.slow
def test_what_only_missing_sheets_could_answer_is_an_error_with_the_reason(stored: Path) -> None:
    forget_sheets(stored)
    commands = [
        ("facts", "mi300x"),
        ("facts", "mi300x", "--all"),
        ("search", "registers", "--target", "h200"),
    ]

    for _ in protected(stored):
        for outcome in confined(*commands):
            message, hint = outcome.refusal
            assert f"could not be added: {stored} cannot be written" in message
            assert "KB_HOME" in hint


def test_writing_a_home_that_cannot_be_written_is_refused(read_only: Path, docs: Path) -> None:
    before = (read_only / "catalog.sqlite").read_bytes()

    for outcome in confined(("ingest", docs), ("targets", "add", "mi400x")):
        message, hint = outcome.refusal
        assert f"{read_only} cannot be written" in message
        assert "KB_HOME" in hint
    assert (read_only / "catalog.sqlite").read_bytes() == before


def test_a_dry_run_needs_no_home_that_can_be_written(run_confined: Run, read_only: Path, docs: Path) -> None:
    outcome = run_confined("ingest", docs, "--dry-run")

    assert (outcome.status, outcome.err) == (0, "")


def test_for_doctor_a_read_only_home_is_no_failure(run_confined: Run, read_only: Path) -> None:
    outcome = run_confined("doctor", "--json")

    assert outcome.status == 0
    states = {check["name"]: check["state"] for check in outcome.json}
    assert (states["home"], states["catalog"]) == ("warn", "ok")


def kill_while_ingesting(docs: Path, home: Path) -> None:
    """Leave a log behind that holds what was read last."""
    killed = subprocess.run([sys.executable, "-c", INGEST_AND_DIE, str(docs)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (home / "catalog.sqlite-wal").stat().st_size > 0


@pytest.mark.slow
def test_what_a_killed_writer_left_in_the_log_can_be_read_where_nothing_can_be_written(
    run_confined: Run, docs: Path, home: Path
) -> None:
    kill_while_ingesting(docs, home)

    for _ in protected(home):
        outcome = run_confined("facts", "mi210", "lds_size", "--json")

        assert outcome.json["facts"][0]["value"] == "64"


@pytest.mark.slow
def test_an_unreadable_log_is_not_ignored(run_confined: Run, stored: Path, docs: Path) -> None:
    """SQLite needs an index of the log, which a copy of the home may lack and which cannot be made there."""
    memory = docs / "mi210" / "memory.md"
    memory.write_text(memory.read_text(encoding="utf-8").replace("| 64 |", "| 128 |"), encoding="utf-8")
    kill_while_ingesting(docs, stored)
    (stored / "catalog.sqlite-shm").unlink()

    for _ in protected(stored):
        outcome = run_confined("facts", "mi210", "lds_size", "--json")

        if outcome.status:
            assert "cannot be written" in outcome.refusal[0]
        else:
            assert outcome.json["facts"][0]["value"] == "128"


@pytest.mark.slow
def test_a_file_or_folder_that_may_not_be_read_is_named(run_confined: Run, docs: Path, home: Path) -> None:
    (docs / "mi210" / "memory.md").chmod(0)

    for folder in (docs / "mi210" / "secret", docs / "mi210" / "secret" / "below"):
        folder.mkdir()
    outcome = run_confined("ingest", docs / "mi210")
    (docs / "mi210" / "secret").chmod(0)
    unlisted = run_confined("ingest", docs / "mi210")
    below = run_confined("ingest", docs / "mi210" / "secret" / "below")
    (docs / "mi210" / "secret").chmod(0o755)
    if outcome.status == 0:
        pytest.skip("file permissions do not hold for this user")

    assert "mi210/memory.md" in outcome.out
    assert "Permission denied" in outcome.out
    assert "Traceback" not in outcome.err
    assert "secret" in unlisted.refusal[0]
    assert "secret" in below.refusal[0]
    assert len(documents(home)) == 4

"""One writer at a time; the second is told who the first is, and readers do not wait."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kb.catalog import write_lock
from kb.errors import LockedError
from tests.cli.conftest import Run, documents


@pytest.fixture
def other_writer(home: Path) -> Iterator[int]:
    """Process id of one that holds the lock of `home`."""
    hold = "import sys; from pathlib import Path; from kb.catalog import write_lock\n"
    hold += "with write_lock(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process.pid
        process.kill()


def test_a_second_writer_is_refused_and_told_which_process_writes(
    run: Run, stored: Path, docs: Path, other_writer: int
) -> None:
    before = documents(stored)

    message, hint = run("ingest", docs).refusal

    assert f"process {other_writer} " in message
    assert "try again" in hint
    assert documents(stored) == before


def test_a_second_writer_does_not_wait_long(home: Path, other_writer: int) -> None:
    began = time.monotonic()

    with pytest.raises(LockedError), write_lock(home):
        pass

    assert time.monotonic() - began < 5


def test_reading_goes_on_while_another_process_writes(run: Run, stored: Path, other_writer: int) -> None:
    assert run("search", "local data share", "--target", "mi210").err == ""


def test_facts_that_cannot_be_added_meanwhile_are_an_error_and_no_answer(
    run: Run, stored: Path, other_writer: int
) -> None:
    message, hint = run("facts", "mi300x").refusal

    assert f"is being written by process {other_writer} " in message
    assert "try again" in hint
    assert run("facts", "mi210", "lds_size").status == 0


def test_the_lock_of_a_killed_writer_is_free(run: Run, stored: Path, docs: Path, other_writer: int) -> None:
    os.kill(other_writer, signal.SIGKILL)
    (docs / "mi210" / "more.md").write_text("# More\n", encoding="utf-8")

    deadline = time.monotonic() + 30  # the system frees the lock when it has taken the process down
    while (outcome := run("ingest", docs)).status and time.monotonic() < deadline:
        time.sleep(0.1)

    assert outcome.status == 0

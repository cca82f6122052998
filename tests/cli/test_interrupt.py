"""Ctrl-C or SIGTERM ends a command with what it has so far, what is left and how to go on."""

import os
import re
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import typer

from ingest import pipeline
from kb.cli import interrupts
from kb.cli.runs import reporting
from kb.runs.journal import Run as KernelRun
from tests.cli.conftest import Run, documents
from tests.conftest import HashEmbedder

STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> HashEmbedder:
    embedder = HashEmbedder()
    monkeypatch.setenv("KB_EMBEDDING_MODEL", "hash")
    monkeypatch.setattr("retrieval.models.load_embedder", lambda *_, **__: embedder)
    return embedder


def send(number: int) -> None:
    """The signal arrives before the next step of this process."""
    os.kill(os.getpid(), number)
    time.sleep(5)


@pytest.mark.parametrize("number", STATUS)
def test_an_interrupt_while_embedding_shows_the_report_and_what_is_left(
    run: Run, docs: Path, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def interrupted(texts: Sequence[str]) -> np.ndarray:
        send(number)
        raise AssertionError("the signal did nothing")

    monkeypatch.setattr(embedder, "embed_documents", interrupted)
    outcome = run("ingest", docs)

    assert (outcome.status, outcome.err) == (STATUS[number], "")
    assert "7 documents read in" in outcome.out
    [left] = re.findall(
        r"interrupted: 0 files are not read yet, (\d+) passages have no vector yet \(words find them\); "
        "the same command goes on",
        outcome.out,
    )
    assert int(left) > 7
    assert run("search", "local data share", "--target", "mi210").status == 0


def test_an_interrupt_while_reading_names_the_files_that_are_left_and_the_same_command_goes_on(
    run: Run, docs: Path, home: Path, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []

    def interrupt_at_the_third(*arguments: object, **options: object) -> tuple:
        read.append(arguments)
        if len(read) == 3:
            send(signal.SIGINT)
        return chunk(*arguments, **options)

    chunk = pipeline.chunk
    monkeypatch.setattr(pipeline, "chunk", interrupt_at_the_third)
    outcome, stored = run("ingest", docs), documents(home)
    again = run("ingest", docs, "--json").json

    assert outcome.status == 130
    assert "2 documents read in" in outcome.out
    assert "interrupted: 5 files are not read yet" in outcome.out
    assert len(stored) == 2
    assert sorted(f["outcome"] for f in again["files"]) == ["new"] * 5 + ["unchanged"] * 2
    assert (again["unembedded"], again["interrupted"]) == (0, False)


def test_json_of_an_interrupted_ingest_says_what_is_left(
    run: Run, docs: Path, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedder, "embed_documents", lambda texts: send(signal.SIGTERM))

    outcome = run("ingest", docs, "--json")

    assert outcome.status == 143
    assert outcome.json["interrupted"]
    assert outcome.json["unread"] == 0 < outcome.json["unembedded"]


def test_doctor_says_how_many_passages_have_no_vector_yet_and_how_to_go_on(
    run: Run, docs: Path, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(embedder, "embed_documents", lambda texts: send(signal.SIGINT))
        left = run("ingest", docs, "--json").json["unembedded"]
    monkeypatch.setattr("kb.usecases.doctor.load_embedder", lambda *_, **__: embedder)

    [before] = [check for check in run("doctor", "--json").json if check["name"] == "catalog"]
    run("ingest", docs)
    [after] = [check for check in run("doctor", "--json").json if check["name"] == "catalog"]

    assert before["state"] == "warn"
    assert f"{left} passages have no vector yet" in before["finding"]
    assert "kb ingest" in before["advice"]
    assert (after["state"], "no vector yet" in after["finding"]) == ("ok", False)


def test_two_signals_at_once_are_one_interrupt_and_a_later_one_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    def survives(number: int) -> bool:
        try:
            os.kill(os.getpid(), number)
            time.sleep(0.01)
        except KeyboardInterrupt:
            return False
        return True

    monkeypatch.setattr(interrupts, "ONE_INTERRUPT_S", 0.5)
    before = signal.getsignal(signal.SIGINT)  # a shell ignores it for commands in the background
    with interrupts.interruptible():
        survived = [survives(signal.SIGTERM), survives(signal.SIGINT)]
        time.sleep(0.6)
        survived.append(survives(signal.SIGINT))

    assert survived == [False, True, False]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("number", STATUS)
def test_an_interrupted_run_shows_its_outcome_and_how_to_go_on(
    started: KernelRun, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    def interrupted() -> None:
        with reporting(quiet=False) as on_start:
            assert on_start is not None
            on_start(started)
            send(number)

    with pytest.raises(typer.Exit) as ended:
        interrupted()

    assert ended.value.exit_code == STATUS[number]
    assert f"open; continue with `kb runs resume {started.id}`" in capsys.readouterr().out

"""A process that is killed while it decides about facts, or stores measured ones, leaves all of a write or nothing."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kb.settings import Settings
from kb.types.records import Trust
from kb.usecases.knowledge_base import KnowledgeBase
from tests.facts.documents import FACT_HEADER
from tests.reliability.conftest import ROOT

CHANCE = random.Random(20261122)
MOMENTS = [
    pytest.param(CHANCE.randrange(0, 30), CHANCE.random() * 0.02, marks=[pytest.mark.slow] if number else [])
    for number in range(20)
]
"""So many writes acknowledged, and the seconds that passed since."""

SHEET = FACT_HEADER + "| lds_size | 228 | KiB | per compute unit | made up |\n"


def opened(home: Path) -> KnowledgeBase:
    return KnowledgeBase(Settings(home=home, embedding_model="none"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "sheet.md").write_text(SHEET, encoding="utf-8")
    with opened(tmp_path / "home") as kb:
        kb.ingest([tmp_path / "sheet.md"], target="h200")
    return tmp_path / "home"


def measured(kb: KnowledgeBase) -> list[float | None]:
    return [fact.number for fact in kb.catalog.facts(["h200"]) if fact.trust is Trust.MEASURED]


def killed(home: Path, work: str, after: int, seconds: float) -> int:
    """How many writes a process acknowledged before it was killed."""
    arguments = [sys.executable, "-m", "tests.reliability.writer", str(home), work]
    with subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(after + 1)]
        time.sleep(seconds)
        os.kill(process.pid, signal.SIGKILL)
        lines += process.stdout.readlines()
    assert process.returncode == -signal.SIGKILL
    return int([line for line in lines if line.endswith("\n")][-1])


@pytest.mark.slow
@pytest.mark.parametrize(("after", "seconds"), MOMENTS)
def test_the_last_decision_that_was_acknowledged_stands_or_the_next_one(home: Path, after: int, seconds: float) -> None:
    acknowledged = killed(home, "decisions", after, seconds)

    with sqlite3.connect(home / "catalog.sqlite") as db:
        decided = db.execute("SELECT verdict, reason FROM fact_verdict").fetchall()
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    numbers = [int(reason) for _, reason in decided]
    assert numbers in ([acknowledged], [acknowledged + 1]) or (numbers == [] and acknowledged == 0)
    assert all(verdict == ("rejected" if int(reason) % 2 else "accepted") for verdict, reason in decided)


@pytest.mark.parametrize(("after", "seconds"), MOMENTS)
def test_what_was_measured_is_of_one_probe_and_the_next_one_replaces_it(home: Path, after: int, seconds: float) -> None:
    acknowledged = killed(home, "probes", after // 4, seconds)

    sheet = home / "measured" / "h200" / "nvidia-h200.md"
    either = ([float(acknowledged)] * 2, [acknowledged + 1.0] * 2)
    with opened(home) as kb:
        assert measured(kb) in either or (measured(kb) == [] and acknowledged == 0)
        if sheet.exists():
            kb.ingest([sheet], target="h200", trust=Trust.MEASURED)
            assert measured(kb) in either

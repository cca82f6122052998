"""An ingest that is interrupted at any moment keeps what it read and tells it, and the next one does the rest."""

import random
import shutil
import signal
import time
from pathlib import Path

import pytest

from kb.catalog import Catalog
from kb.catalog.words import match_expression
from tests.conftest import HashEmbedder
from tests.reliability.conftest import DOCUMENTS, Clean, Dump, Ingester, Run, agrees, dump

WEIGHTS = (1.0, 1.0, 1.0, 1.0, 1.0)
CHANCE = random.Random(20260114)
MOST_S = 20
"""Most seconds from the start of an ingest to its end by a signal, on a busy machine."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
NORMAL = (("reading", 0), ("embedding", 1))
MOMENTS = [
    pytest.param(
        SIGNALS[number % 3],
        phase,
        round(CHANCE.random(), 3),
        marks=[pytest.mark.slow] if (phase, number) not in NORMAL else [],
        id=f"{SIGNALS[number % 3].name}-{phase}-{number}",
    )
    for phase in ("reading", "embedding")
    for number in range(10)
]
"""Signal, phase, and the share of the phase's time that passed."""


def interrupted(ingester: Ingester, home: Path, folder: Path, number: int, after: int, seconds: float) -> Run:
    """A run that was interrupted for certain: were it done before, then once more and earlier."""
    while not (run := ingester.kill(home, folder, after=after, seconds=seconds, number=number)).status:
        seconds /= 2
        shutil.rmtree(home)
    return run


def found_by_words(home: Path) -> set[str]:
    """Paths of the documents that hold the word that is in all of them."""
    with Catalog(home) as catalog:
        hits = catalog.lexical(match_expression(["version"]), weights=WEIGHTS, targets=None, limit=10 * DOCUMENTS)
        return {passage.citation.path for passage in catalog.passages([chunk for chunk, _ in hits])}


def without_vectors(held: Dump) -> int:
    waiting = {row["text_digest"] for row in held["unembedded"]}
    return len({(row["of_source"], row["of_chunk"]) for row in held["embedded"] if row["text_digest"] in waiting})


@pytest.mark.parametrize(("number", "phase", "share"), MOMENTS)
def test_what_was_told_as_stored_is_found_and_the_next_ingest_does_the_rest_and_nothing_twice(
    ingester: Ingester, clean: Clean, home: Path, number: int, phase: str, share: float
) -> None:
    reading_s, embedding_s = sum(clean.run.seconds[:-1]), clean.run.seconds[-1]
    after, seconds = (0, share * reading_s) if phase == "reading" else (DOCUMENTS, share * embedding_s)

    began = time.monotonic()
    run = interrupted(ingester, home, clean.folder, number, after, seconds)
    took = time.monotonic() - began

    with Catalog(home) as catalog:
        assert catalog.problems(HashEmbedder.fingerprint) == []
    held = dump(home)
    told = set(run.stored)
    if number == signal.SIGKILL:
        assert (run.status, run.report) == (-number, None)
    else:
        assert run.status == 128 + number
        assert took < MOST_S
    if report := run.report:
        told |= {file["path"] for file in report["files"]}
        assert report["interrupted"]
        assert len(report["files"]) + report["unread"] in (DOCUMENTS, 0)
        assert report["unembedded"] == without_vectors(held)
    assert told <= found_by_words(home)
    assert agrees(held, clean.held)

    finished = ingester.run(home, clean.folder)

    assert dump(home) == clean.held
    assert finished.found == clean.run.found
    assert told.isdisjoint(finished.stored)

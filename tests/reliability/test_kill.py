"""A process that is killed while it ingests loses nothing that it acknowledged, and leaves nothing half-written."""

import random
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from kb.catalog import Catalog
from kb.errors import StoreError
from kb.settings import Settings
from kb.usecases.knowledge_base import KnowledgeBase
from retrieval.chroma_index import ChromaIndex
from tests.conftest import HashEmbedder
from tests.reliability.conftest import (
    DOCUMENTS,
    WORDS,
    Clean,
    Ingester,
    Run,
    agreement,
    agrees,
    dump,
    ingest_cleanly,
    of_sources,
    sources,
)

EXACT, INDEX = 100_000, 0
"""Settings of `exact_vectors`: every vector is compared, or the index is asked."""

SAME = 0.98
"""Least agreement of a published index with the comparison of all vectors."""

KILLS = 50
CHANCE = random.Random(20251120)
MOMENTS = [
    (after, round(CHANCE.random(), 3))
    for after in [0] * (KILLS // 4)
    + CHANCE.sample(range(1, DOCUMENTS), KILLS - 2 * (KILLS // 4) - 1)
    + [DOCUMENTS] * (KILLS // 4 + 1)
]
"""So many documents acknowledged, and the share of the time to the next event that passed: before the first (opening,
reading), between any two, after the last (embedding, publishing the index)."""
PUBLISHING = [(round(CHANCE.random(), 3),) for _ in range(KILLS)]
"""The share of the time to publish the index that passed."""


def slow_but_one(moments: Sequence[tuple[float, ...]]) -> list[object]:
    """One real kill in the normal run: at the moment in the middle."""
    normal = len(moments) // 2
    return [pytest.param(*m, marks=[pytest.mark.slow] if n != normal else []) for n, m in enumerate(moments)]


@pytest.fixture(scope="module")
def two_versions(ingester: Ingester, tmp_path_factory: pytest.TempPathFactory) -> tuple[Clean, Clean]:
    """Of the same files before and after a change, each in a home of its own; the second is what the files are now."""
    root = tmp_path_factory.mktemp("versions")
    before = ingest_cleanly(ingester, root / "chip-x", root / "home1", version=1)
    return before, ingest_cleanly(ingester, root / "chip-x", root / "home2", version=2)


def killed(ingester: Ingester, home: Path, clean: Clean, after: int, share: float) -> Run:
    """A run that was killed for certain: were it done before, then once more and earlier."""
    start = shutil.copytree(home, home.with_name("start")) if home.exists() else None
    while (run := ingester.kill(home, clean.folder, after=after, seconds=share * clean.run.seconds[after])).status == 0:
        share /= 2
        shutil.rmtree(home)
        if start:
            shutil.copytree(start, home)
    assert run.status == -signal.SIGKILL
    return run


def acknowledged(run: Run, clean: Clean) -> set[str]:
    return {str(clean.folder.parent / path) for path in run.stored}


def test_a_clean_run_holds_every_document_once(clean: Clean) -> None:
    assert [row["source"] for row in clean.held["document"]] == [
        str(clean.folder / f"doc-{n:02}.md") for n in range(DOCUMENTS)
    ]
    assert len(clean.run.stored) == DOCUMENTS
    assert [row for row in clean.held["chunk"] if row["body"] is None] == []
    assert (len(clean.held["vector"]), clean.held["unembedded"]) == (len(clean.held["embedded"]), [])
    assert len(clean.held["fact"]) == 2 * DOCUMENTS
    assert len(clean.held["vector"]) > 512
    assert clean.held["orphan"] == []


@pytest.mark.parametrize(("after", "share"), slow_but_one(MOMENTS))
def test_a_kill_loses_no_acknowledged_document_and_the_next_ingest_finishes_the_work(
    ingester: Ingester, clean: Clean, home: Path, after: int, share: float
) -> None:
    run = killed(ingester, home, clean, after, share)

    with Catalog(home) as catalog:
        assert catalog.problems(HashEmbedder.fingerprint) == []
    held = dump(home)
    assert after <= len(run.stored)
    assert acknowledged(run, clean) <= sources(held)
    assert agrees(held, clean.held)

    finished = ingester.run(home, clean.folder)

    assert dump(home) == clean.held
    assert finished.found == clean.run.found
    assert len(list((home / "index").iterdir())) <= 2


@pytest.mark.parametrize(("after", "share"), slow_but_one(MOMENTS[::10]))
def test_a_kill_in_a_second_ingest_leaves_of_each_document_the_old_or_the_new_version(
    ingester: Ingester, two_versions: tuple[Clean, Clean], home: Path, after: int, share: float
) -> None:
    before, now = two_versions
    shutil.copytree(before.home, home)

    run = killed(ingester, home, now, after, share)

    held = dump(home)
    new = {row["source"] for row in held["document"] if row in now.held["document"]}
    parts = of_sources(now.held, new), of_sources(before.held, sources(before.held) - new)
    assert acknowledged(run, now) <= new
    assert agrees(held, {table: sorted(parts[0][table] + parts[1][table], key=repr) for table in held})

    finished = ingester.run(home, now.folder)

    assert dump(home) == now.held
    assert finished.found == now.run.found


@pytest.fixture(scope="module")
def unpublished(
    ingester: Ingester, two_versions: tuple[Clean, Clean], tmp_path_factory: pytest.TempPathFactory
) -> Clean:
    """A home with the second version and the index of the first: an ingest has nothing to do but to publish."""
    before, now = two_versions
    home = shutil.copytree(before.home, tmp_path_factory.mktemp("unpublished") / "home")
    with opened(home, EXACT) as kb:
        kb.ingest([now.folder])
    run = ingester.run(shutil.copytree(home, home.with_name("published")), now.folder)
    return Clean(now.folder, home, run, dump(home))


def opened(home: Path, exact_vectors: int) -> KnowledgeBase:
    return KnowledgeBase(Settings(home=home, exact_vectors=exact_vectors), embedder=HashEmbedder())


def answers(home: Path, exact_vectors: int) -> list[list[str]]:
    with opened(home, exact_vectors) as kb:
        return [[hit.passage.citation.id for hit in kb.search(word, limit=20).hits] for word in WORDS]


def published(home: Path) -> bool:
    with Catalog(home) as catalog:
        try:
            return bool(ChromaIndex(catalog, model=HashEmbedder.fingerprint).check())
        except StoreError:
            return False


@pytest.mark.slow
@pytest.mark.parametrize("share", slow_but_one(PUBLISHING))
def test_a_kill_while_an_index_is_published_changes_no_answer_and_the_next_ingest_publishes(
    ingester: Ingester, unpublished: Clean, home: Path, share: float
) -> None:
    shutil.copytree(unpublished.home, home)
    assert not published(home)

    killed(ingester, home, unpublished, 0, share)

    exact = answers(home, EXACT)
    asked = answers(home, INDEX)
    assert asked == exact or (published(home) and agreement(asked, exact) >= SAME)
    assert min(map(len, exact)) >= 10
    assert dump(home) == unpublished.held

    ingester.run(home, unpublished.folder)

    assert published(home)
    assert agreement(answers(home, INDEX), exact) >= SAME
    assert len(list((home / "index").iterdir())) == 2

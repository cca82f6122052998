"""Two processes in one home: writers one at a time, readers whenever they like."""

import signal
from pathlib import Path

import numpy as np
import pytest

from kb.catalog import Catalog
from kb.errors import LockedError
from kb.settings import Settings
from kb.types.passages import Status
from kb.usecases.knowledge_base import KnowledgeBase
from tests.conftest import HashEmbedder
from tests.reliability.conftest import WORDS, Clean, Ingester, agreement, agrees, dump, sources, write_documents

PAUSE = 0.03
"""Seconds after each of 40 documents: longer in all than a second writer waits for the lock."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_documents(tmp_path / "chip-x", version=1)
    return tmp_path / "chip-x"


def opened(home: Path, exact_vectors: int = 100_000) -> KnowledgeBase:
    return KnowledgeBase(Settings(home=home, exact_vectors=exact_vectors), embedder=HashEmbedder())


def found(kb: KnowledgeBase) -> list[list[str]]:
    return [[hit.passage.citation.id for hit in kb.search(word, limit=20).hits] for word in WORDS]


def both(asked: KnowledgeBase, exact: KnowledgeBase) -> tuple[list[list[str]], list[list[str]]]:
    """What two readers find in the same state of the catalog, whatever a writer does meanwhile."""
    while True:
        revision = exact.catalog.revision
        answers = found(asked), found(exact)
        if exact.catalog.revision == revision:
            return answers


@pytest.mark.slow
def test_a_second_ingest_at_the_same_time_is_refused_and_harms_nothing(
    ingester: Ingester, clean: Clean, home: Path
) -> None:
    refusals: list[str] = []

    for run in ingester.start(home, clean.folder, pause=PAUSE):
        if len(run.stored) == 1 and not refusals:
            with opened(home) as kb, pytest.raises(LockedError) as caught:
                kb.ingest([clean.folder])
            refusals.append(caught.value.message)

    assert run.status == 0
    assert f"process {run.pid} " in refusals[0]
    assert dump(home) == clean.held


def test_readers_work_while_a_writer_writes_and_see_whole_documents(
    ingester: Ingester, clean: Clean, home: Path
) -> None:
    seen: list[set[str]] = []

    for run in ingester.start(home, clean.folder, pause=PAUSE):
        if len(run.stored) % 8 == 1:
            with opened(home) as kb:
                result = kb.search("bank conflict of the register file", target="chip-x")
            held = dump(home)
            seen.append(sources(held))
            assert result.status is Status.OK
            assert agrees(held, clean.held)
            assert {str(clean.folder.parent / path) for path in run.stored} <= seen[-1]

    assert run.status == 0
    assert seen == sorted(seen, key=len)
    assert len(seen[0]) < len(seen[-1])


def test_a_search_goes_on_when_a_document_that_it_found_is_replaced_meanwhile(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "chip-x" / "a.md"
    file.parent.mkdir()

    def write(version: int) -> None:
        sections = "\n".join(f"## Bank {i}\n\nBank conflict {version}.\n" for i in range(version))
        file.write_text(f"# Banks\n\n{sections}", encoding="utf-8")
        with opened(home) as writer:
            writer.ingest([file.parent])

    class Meanwhile(HashEmbedder):
        """Another process replaces the document after the words were looked up and before the vectors are."""

        def embed_queries(self, texts) -> np.ndarray:
            write(2)
            return super().embed_queries(texts)

    write(5)

    with KnowledgeBase(Settings.load(home), embedder=Meanwhile()) as kb:
        result = kb.search("bank conflict", target="chip-x")

    assert result.status is Status.OK
    assert len({hit.passage.citation.sha256 for hit in result.hits}) == 1


def test_a_home_with_the_log_of_a_killed_writer_opens(ingester: Ingester, folder: Path, home: Path) -> None:
    run = ingester.kill(home, folder, after=20, seconds=0)
    assert run.status == -signal.SIGKILL
    assert (home / "catalog.sqlite-wal").stat().st_size > 0

    with opened(home) as kb:
        stored = {state.path for state in kb.catalog.states().values()}
        assert kb.catalog.problems(HashEmbedder.fingerprint) == []
        assert kb.search("bank conflict").status is Status.OK

    assert set(run.stored) <= stored


def test_the_lock_of_a_killed_writer_is_free_and_what_it_left_in_it_does_no_harm(
    ingester: Ingester, folder: Path, home: Path
) -> None:
    ingester.kill(home, folder, after=3, seconds=0)
    assert (home / ".lock.holder").is_file()

    with opened(home) as kb:
        report = kb.ingest([folder])

    assert report.count("new") + report.count("unchanged") == len(list(folder.iterdir()))
    assert not (home / ".lock.holder").exists()


def test_a_long_lived_reader_sees_what_another_process_adds(ingester: Ingester, folder: Path, home: Path) -> None:
    with opened(home) as reader:
        before = reader.search("bank conflict")
        ingester.run(home, folder)
        after = reader.search("bank conflict")

    assert (before.status, after.status) == (Status.INSUFFICIENT, Status.OK)


def test_a_reader_opened_before_a_kill_reads_on(ingester: Ingester, folder: Path, home: Path) -> None:
    with Catalog(home) as reader:
        run = ingester.kill(home, folder, after=10, seconds=0)
        states = reader.states()

    assert {Path(path).name for path in run.stored} <= {Path(source).name for source in states}


@pytest.mark.slow
def test_a_reader_of_the_index_gives_the_exact_answers_while_another_process_ingests_and_publishes(
    ingester: Ingester, folder: Path, home: Path
) -> None:
    ingester.run(home, folder)
    write_documents(folder, version=2)

    with opened(home, 0) as reader, opened(home) as exact:
        seen = [found(reader)]
        for run in ingester.start(home, folder, pause=PAUSE):
            if len(run.stored) % 20 == 1 or run.found:
                asked, right = both(reader, exact)
                assert agreement(asked, right) >= 0.98
                seen.append(asked)

    assert run.status == 0
    assert seen[0] != seen[-1]
    assert min(len(hits) for answers in seen for hits in answers) >= 10


@pytest.mark.slow
def test_a_reader_that_slept_while_its_index_was_replaced_and_removed_gives_the_exact_answers(
    ingester: Ingester, folder: Path, home: Path
) -> None:
    ingester.run(home, folder)
    with opened(home, 0) as reader, opened(home) as exact:
        before = both(reader, exact)
        [opened_first] = (home / "index").iterdir()
        for version in (2, 3):
            write_documents(folder, version=version)
            ingester.run(home, folder)
        after = both(reader, exact)
        notes = reader.search(WORDS[0]).notes

    assert not opened_first.exists()
    assert agreement(*before) >= 0.98
    assert agreement(*after) >= 0.98 > agreement(*(right for _, right in (before, after)))
    assert notes == ()

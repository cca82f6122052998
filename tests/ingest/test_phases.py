"""An ingest reads everything, then embeds; an interrupt keeps what was done, and the next ingest does the rest."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ingest import pipeline
from kb.settings import Settings
from kb.types.documents import IngestInterrupted, IngestReport, Progress
from kb.usecases.knowledge_base import KnowledgeBase
from tests.conftest import HashEmbedder
from tests.ingest.knowledge import edit, found, outcomes

LDS = "mi300x/memory.md"


class Interrupted(HashEmbedder):
    """Embeds so many batches; then the user presses Ctrl-C."""

    def __init__(self, batches: int) -> None:
        super().__init__()
        self.batches = batches

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        if self.batches == 0:
            raise KeyboardInterrupt
        self.batches -= 1
        return super().embed_documents(texts)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "BATCH_TEXTS", 5)


def opened(home: Path, embedder: HashEmbedder | None = None) -> KnowledgeBase:
    return KnowledgeBase(Settings(home=home), embedder=embedder or HashEmbedder())


def interrupted(home: Path, manuals: Path, *, batches: int) -> IngestReport:
    with opened(home, Interrupted(batches)) as kb, pytest.raises(IngestInterrupted) as caught:
        kb.ingest([manuals])
    return caught.value.report


def test_words_find_each_document_as_soon_as_it_is_read_and_vectors_follow_when_all_are(
    kb: KnowledgeBase, manuals: Path
) -> None:
    seen: list[tuple[str, int, int]] = []

    kb.ingest([manuals], progress=lambda at: seen.append((at.phase, *count(kb))))

    read = [(documents, vectors) for phase, documents, vectors in seen if phase == "reading"]
    embedded = [vectors for phase, _, vectors in seen if phase == "embedding"]
    assert read == [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0)]
    assert embedded == sorted(embedded)
    assert (embedded[0], embedded[-1]) == (0, kb.catalog.counts()["vector"])
    assert len(set(embedded)) > 2


def count(kb: KnowledgeBase) -> tuple[int, int]:
    counts = kb.catalog.counts()
    return counts["document"], counts["vector"]


def test_progress_counts_the_files_that_are_read_and_the_passages_that_get_vectors(
    kb: KnowledgeBase, manuals: Path
) -> None:
    kb.ingest([manuals / "mi355x"])
    (manuals / "mi300x" / "die.png").write_bytes(b"\x89PNG")
    (manuals / "mi300x" / "broken.md").write_bytes(b"\0" * 100)
    steps: list[Progress] = []

    report = kb.ingest([manuals], progress=steps.append)

    read = [at for at in steps if at.phase == "reading"]
    embedded = [at for at in steps if at.phase == "embedding"]
    assert steps == read + embedded
    assert [(at.done, at.total, at.file and at.file.path) for at in read] == [
        (0, 3, None),
        (1, 3, "mi300x/broken.md"),
        (2, 3, "mi300x/isa.rst"),
        (3, 3, "mi300x/memory.md"),
    ]
    assert embedded[-1].done == embedded[-1].total == report.embedded > 0
    for phase in (read, embedded):
        assert [at.share for at in phase] == sorted(at.share for at in phase)
        assert (phase[0].share, phase[-1].share) == (0, 1)


def test_an_ingest_without_work_embeds_nothing_and_says_so(kb: KnowledgeBase, manuals: Path) -> None:
    kb.ingest([manuals])
    steps: list[Progress] = []

    report = kb.ingest([manuals], progress=steps.append)

    assert (report.embedded, report.unread, report.unembedded, report.interrupted) == (0, 0, 0, False)
    assert {at.phase for at in steps} == {"reading"}


def test_an_interrupt_while_reading_keeps_what_was_read_and_says_how_much_is_left(home: Path, manuals: Path) -> None:
    def interrupt(at: Progress) -> None:
        if at.done == 3:
            raise KeyboardInterrupt

    with opened(home) as kb:
        with pytest.raises(IngestInterrupted) as caught:
            kb.ingest([manuals], progress=interrupt)
        report = caught.value.report

        assert [f.path for f in report.files] == ["mi300x/isa.rst", LDS, "mi355x/isa.rst"]
        assert (report.interrupted, report.unread, report.embedded) == (True, 1, 0)
        assert report.unembedded == len(kb.catalog.unembedded_chunks(HashEmbedder.fingerprint)) > 0
        assert "64 KB of local data share" in found(kb, "local data share")
        assert set(outcomes(kb.ingest([manuals])).values()) == {"unchanged", "new"}


@pytest.mark.parametrize("batches", [0, 1, 2])
def test_an_interrupt_while_embedding_keeps_the_batches_that_were_done(home: Path, manuals: Path, batches: int) -> None:
    report = interrupted(home, manuals, batches=batches)

    with opened(home) as kb:
        waiting = len(kb.catalog.unembedded_chunks(HashEmbedder.fingerprint))
        assert count(kb)[1] == 5 * batches
        assert (report.unread, report.unembedded) == (0, waiting)
        assert report.embedded + waiting == kb.catalog.counts()["chunk"]


@pytest.mark.parametrize("again", ["the same folder", "another"])
def test_the_next_ingest_embeds_what_an_interrupted_one_left(
    home: Path, manuals: Path, tmp_path: Path, again: str
) -> None:
    (tmp_path / "h200").mkdir()
    (tmp_path / "h200" / "other.md").write_text("# Other\n\nA text.\n", encoding="utf-8")
    interrupted(home, manuals, batches=1)
    embedder = HashEmbedder()

    with opened(home, embedder) as kb:
        report = kb.ingest([manuals if again == "the same folder" else tmp_path / "h200"])

        assert (report.unembedded, len(kb.catalog.unembedded_texts(HashEmbedder.fingerprint, limit=9))) == (0, 0)
        assert len(embedder.embedded) == len(set(embedder.embedded)) == kb.catalog.counts()["vector"] - 5


def test_a_changed_file_embeds_nothing_of_the_version_that_was_interrupted(home: Path, manuals: Path) -> None:
    interrupted(home, manuals, batches=0)
    edit(manuals / LDS, "64 KB", "65 KB")
    embedder = HashEmbedder()

    with opened(home, embedder) as kb:
        kb.ingest([manuals])

    assert [text for text in embedder.embedded if "64 KB" in text] == []
    assert [text for text in embedder.embedded if "65 KB" in text] != []


def test_a_search_says_how_many_passages_in_its_scope_have_no_vector_yet(home: Path, manuals: Path) -> None:
    with opened(home) as kb:
        kb.ingest([manuals / "mi355x"])
    interrupted(home, manuals / "mi300x", batches=0)

    with opened(home) as kb:
        [note] = kb.search("local data share", target="mi300x").notes
        other = kb.search("local data share", target="mi355x").notes
        kb.ingest([manuals])
        after = kb.search("local data share", target="mi300x").notes
    with KnowledgeBase(Settings(home=home, embedding_model="none")) as kb:
        lexical = kb.search("local data share", target="mi300x").notes

    waiting, total = map(int, (note.split()[0], note.split()[2]))
    assert 0 < waiting <= total
    assert note.endswith("passages have no vector yet, so they are found by words only; `kb ingest` goes on")
    assert other == after == lexical == ()


def test_sheets_that_a_question_adds_get_their_vectors_at_once_unless_an_ingest_was_interrupted(
    home: Path, tmp_path: Path, manuals: Path
) -> None:
    interrupted(home, manuals, batches=0)

    with opened(home) as kb, opened(tmp_path / "empty") as empty:
        before = len(kb.catalog.unembedded_chunks(HashEmbedder.fingerprint))
        kb.facts("h200")
        empty.facts("h200")

        assert len(kb.catalog.unembedded_chunks(HashEmbedder.fingerprint)) > before
        assert len(empty.catalog.unembedded_chunks(HashEmbedder.fingerprint)) == 0
        assert empty.catalog.counts()["vector"] > 0

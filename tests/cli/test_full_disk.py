"""A full disk: said in two lines, and nothing is half-written."""

import random
from contextlib import suppress
from pathlib import Path

import pytest

from kb.errors import StoreError
from kb.settings import Settings
from kb.storage import STAGED
from kb.types.documents import Progress
from kb.usecases.knowledge_base import KnowledgeBase
from tests.cli.conftest import Run, documents, forget_sheets
from tests.conftest import HashEmbedder, fill


@pytest.fixture
def on_small_disk(small_disk: Path, run: Run, docs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home on the small disk that holds `docs`, the family's for a chip that has sheets too."""
    home = small_disk / "home"
    monkeypatch.setenv("KB_HOME", str(home))
    assert run("ingest", docs / "cdna2", "--target", "amd").status == 0
    assert run("ingest", docs / "mi210").status == 0
    return home


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A manual whose catalog needs more than 2 MB."""
    words = random.Random(7)
    (tmp_path / "mi250").mkdir()
    sections = (f"## Section {i}\n\n" + " ".join(f"w{words.randrange(10**9)}" for _ in range(100)) for i in range(1500))
    (tmp_path / "mi250" / "large.md").write_text("# Large\n\n" + "\n\n".join(sections), encoding="utf-8")
    return tmp_path / "mi250"


def test_a_document_that_does_not_fit_on_the_disk_is_refused_and_the_others_stay(
    run: Run, on_small_disk: Path, large: Path
) -> None:
    before = documents(on_small_disk)

    message, hint = run("ingest", large).refusal

    assert f"no space left for {on_small_disk}" in message
    assert "KB_HOME" in hint
    assert documents(on_small_disk) == before
    assert run("search", "local data share", "--target", "mi210").status == 0
    assert run("doctor").status == 0


def test_a_disk_without_a_byte_left_is_called_full(run: Run, on_small_disk: Path, docs: Path) -> None:
    before = documents(on_small_disk)
    filler = fill(on_small_disk.parent, leave=0)

    refusals = [
        run(*command).refusal[0]
        for command in (("ingest", docs / "mi250"), ("targets", "add", "mi400x", "--parent", "cdna"))
    ]

    assert [m for m in refusals if "no space left" not in m] == []
    filler.unlink()
    assert documents(on_small_disk) == before
    assert sorted(p.name for p in on_small_disk.iterdir() if p.name.startswith(STAGED)) == []


def test_a_search_goes_without_the_sheets_for_which_there_is_no_space(run: Run, on_small_disk: Path) -> None:
    forget_sheets(on_small_disk)
    fill(on_small_disk.parent, leave=120_000)

    outcome = run("search", "wavefronts", "--target", "mi300x")

    assert outcome.status == 0
    assert "Wavefronts have 64 lanes." in outcome.out
    assert outcome.err.startswith("note: ")


def test_an_index_for_which_there_is_no_space_costs_no_document_and_keeps_no_space(
    small_disk: Path, docs: Path
) -> None:
    def fill_after_the_last(progress: Progress) -> None:
        if progress.phase == "embedding" and progress.done == progress.total:
            fill(small_disk, leave=100_000)

    with KnowledgeBase(Settings.load(small_disk / "home"), embedder=HashEmbedder()) as kb:
        with suppress(StoreError):
            kb.ingest([docs], progress=fill_after_the_last)
        result = kb.search("local data share", target="mi210")

        assert kb.catalog.counts()["document"] == 7
        assert kb.catalog.problems(HashEmbedder.fingerprint) == []
        assert kb.catalog.generation is None
        assert result.hits

    assert [p for p in (small_disk / "home" / "index").rglob("*") if p.is_file()] == []


@pytest.mark.slow
def test_a_file_that_may_not_grow_is_refused_and_the_others_stay(
    run: Run, run_confined: Run, stored: Path, large: Path
) -> None:
    before = documents(stored)

    message, _ = run_confined("ingest", large, file_limit=1_000_000).refusal

    assert str(stored) in message
    assert documents(stored) == before
    assert run("search", "local data share", "--target", "mi210").status == 0

"""The vector index gives the exact answers; if it fails, search compares all vectors and says so in a note."""

import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ingest.pipeline import Ingest
from kb.catalog import Catalog, write_lock
from kb.settings import Settings
from kb.types.passages import SearchResult
from kb.usecases.knowledge_base import KnowledgeBase
from retrieval.chroma_index import ChromaIndex
from tests.conftest import HashEmbedder

TARGETS = ("mi210", "mi250", "hexagon")

EXACT, INDEX = 100_000, 0
"""Values of `exact_vectors`: compare every vector, or use the index."""

WORDS = [f"word{i}" for i in range(300)]
QUESTIONS = [" ".join(random.Random(seed).choices(WORDS, k=6)) for seed in range(30)]

SEARCH_ALONE = """
import sys
from pathlib import Path
from kb.usecases.knowledge_base import KnowledgeBase
from kb.settings import Settings
from tests.conftest import HashEmbedder
for exact_vectors in (100_000, 0):
    with KnowledgeBase(Settings(home=Path(sys.argv[1]), exact_vectors=exact_vectors), embedder=HashEmbedder()) as kb:
        for question in sys.argv[2:]:
            print(*[hit.passage.citation.id for hit in kb.search(question, limit=20).hits])
    print()
"""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of 1200 random windows, enough for Chroma to write a graph; some are the same in several targets."""
    root = tmp_path_factory.mktemp("published")
    for target in TARGETS:
        (root / "docs" / target).mkdir(parents=True)
        for part in range(4):
            seed = f"{part}" if part == 0 else f"{target}{part}"
            words = random.Random(seed)
            sections = (f"## S{i}\n\n{' '.join(words.choices(WORDS, k=25))}\n" for i in range(100))
            (root / "docs" / target / f"{part}.md").write_text("# T\n\n" + "\n".join(sections), encoding="utf-8")
    with opened(root / "home", INDEX) as kb:
        kb.ingest([root / "docs"])
        assert kb.catalog.counts()["chunk"] == 1200
    return root / "home"


@pytest.fixture
def copied(published: Path, home: Path) -> Path:
    """A copy of that home for a test to damage."""
    shutil.copytree(published, home)
    return home


def opened(home: Path, exact_vectors: int, *, embedder: HashEmbedder | None = None) -> KnowledgeBase:
    return KnowledgeBase(Settings(home=home, exact_vectors=exact_vectors), embedder=embedder or HashEmbedder())


def answers(
    home: Path,
    exact_vectors: int,
    *,
    target: str | None = None,
    questions: Sequence[str] = QUESTIONS[:8],
    embedder: HashEmbedder | None = None,
) -> Iterator[tuple[list[tuple[str, float]], bool]]:
    """The hits of each question, and whether a note says that the index was not used."""
    with opened(home, exact_vectors, embedder=embedder) as kb:
        for question in questions:
            yield summary(kb.search(question, target=target, limit=20))


def summary(result: SearchResult) -> tuple[list[tuple[str, float]], bool]:
    # Cosines computed on a whole matrix and on part of it differ in their last bits.
    return [(hit.passage.citation.id, round(hit.score, 4)) for hit in result.hits], is_said(result)


def is_said(result: SearchResult) -> bool:
    return any("compared every vector" in note for note in result.notes)


def degraded(exact: Sequence[tuple[list[tuple[str, float]], bool]]) -> list[tuple[list[tuple[str, float]], bool]]:
    """The same answers, given without the index."""
    return [(found, True) for found, _ in exact]


def generation(home: Path) -> Path:
    with Catalog(home) as catalog:
        assert catalog.generation is not None
        return home / "index" / catalog.generation.name


def test_the_index_gives_the_same_answers_as_comparing_every_vector(published: Path) -> None:
    exact = list(answers(published, EXACT, questions=QUESTIONS))

    with Catalog(published) as catalog:
        assert ChromaIndex(catalog, model=HashEmbedder.fingerprint).check().count == 1200
    assert list(answers(published, INDEX, questions=QUESTIONS)) == exact
    assert all(len(found) > 10 and not said for found, said in exact)


def test_a_small_collection_is_searched_by_comparing_every_vector_without_the_index(
    published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ChromaIndex, "nearest", lambda *arguments, **named: pytest.fail("the index was used"))

    assert len(list(answers(published, 1200))) == 8
    assert len(list(answers(published, INDEX, target="mi210"))) == 8, "within a target"
    with pytest.raises(pytest.fail.Exception):
        list(answers(published, 1199))


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(shutil.rmtree, id="folder removed"),
        pytest.param(lambda folder: shutil.rmtree(folder.parent), id="all generations removed"),
        pytest.param(lambda folder: (folder / "chroma.sqlite3").unlink(), id="database removed"),
        pytest.param(lambda folder: (folder / "chroma.sqlite3").write_bytes(b"garbage" * 999), id="database spoilt"),
        pytest.param(lambda folder: cut(folder / "chroma.sqlite3"), id="database cut off"),
        pytest.param(lambda folder: [shutil.rmtree(p) for p in folder.iterdir() if p.is_dir()], id="graph removed"),
    ],
)
def test_a_lost_index_changes_no_answer_and_adds_a_note(copied: Path, damage: Callable[[Path], object]) -> None:
    exact = list(answers(copied, EXACT))
    damage(generation(copied))

    assert list(answers(copied, INDEX)) == degraded(exact)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("data_level0.bin", lambda file: file.write_bytes(random.Random(1).randbytes(file.stat().st_size))),
        ("data_level0.bin", lambda file: file.write_bytes(bytes(file.stat().st_size))),
        ("data_level0.bin", cut),
        ("link_lists.bin", lambda file: file.write_bytes(bytes(file.stat().st_size))),
        ("header.bin", lambda file: file.write_bytes(random.Random(1).randbytes(file.stat().st_size))),
    ],
    ids=["vectors garbage", "vectors zero", "vectors cut off", "links zero", "header garbage"],
)
def test_a_damaged_graph_fails_no_search_and_changes_no_answer(
    copied: Path, file: str, damage: Callable[[Path], object]
) -> None:
    [spoilt] = generation(copied).glob(f"*/{file}")
    damage(spoilt)

    # In another process, because a crash in the library would end this one.
    done = subprocess.run(
        [sys.executable, "-c", SEARCH_ALONE, copied, *QUESTIONS[:4]], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr[-500:]
    exact, asked, _ = done.stdout.split("\n\n")
    assert asked == exact


def test_an_index_that_is_removed_while_it_is_open_changes_no_answer(copied: Path) -> None:
    exact = list(answers(copied, EXACT))

    with opened(copied, INDEX) as kb:
        first = summary(kb.search(QUESTIONS[0], limit=20))
        shutil.rmtree(copied / "index")
        after = [summary(kb.search(question, limit=20))[0] for question in QUESTIONS[:8]]

    assert (first, after) == (exact[0], [found for found, _ in exact])


@pytest.mark.parametrize("error", [ValueError, KeyError, OSError, RuntimeError], ids=lambda error: error.__name__)
def test_an_error_of_chroma_in_one_query_changes_no_answer_adds_a_note_and_does_not_affect_the_next_query(
    published: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    from chromadb.api.models.Collection import Collection

    exact = list(answers(published, EXACT))

    def broken(*arguments: object, **named: object) -> None:
        raise error("Error executing plan")

    with opened(published, INDEX) as kb:
        found = []
        for number, question in enumerate(QUESTIONS[:8]):
            with monkeypatch.context() as patched:
                if number % 2:
                    patched.setattr(Collection, "query", broken)
                found.append(summary(kb.search(question, limit=20)))

    assert found == [degraded(exact)[i] if i % 2 else exact[i] for i in range(8)]


def test_the_note_names_an_index_that_cannot_be_opened(copied: Path) -> None:
    folder = generation(copied)
    (folder / "chroma.sqlite3").write_bytes(b"garbage" * 999)

    with opened(copied, INDEX) as kb:
        notes = kb.search(QUESTIONS[0]).notes

    assert [str(folder) in note for note in notes] == [True]


def test_an_index_older_than_the_catalog_is_not_used_and_a_note_says_so(copied: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mi210"
    folder.mkdir()
    (folder / "late.md").write_text("# Late\n\nA zebra crosses.\n", encoding="utf-8")

    with opened(copied, INDEX) as kb:
        before = generation(copied)
        with write_lock(copied):
            work = Ingest(kb.catalog, kb.targets, HashEmbedder())
            work.read([folder])
            work.embed()

        assert generation(copied) == before
        assert before.is_dir()
        found = kb.search("zebra")
        assert found.hits[0].passage.text == "A zebra crosses."
        assert is_said(found)


class OtherEmbedder(HashEmbedder):
    """Another model, under which near vectors are far apart."""

    fingerprint = "hash@2/other"

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        return super().embed_queries([text[::-1] for text in texts])


def test_an_index_of_another_model_is_not_used_and_a_note_says_so(copied: Path) -> None:
    docs, other = copied.with_name("docs"), OtherEmbedder()
    (docs / "mi210").mkdir(parents=True)
    (docs / "mi210" / "a.md").write_text(f"# T\n\n{' '.join(QUESTIONS[0].split() * 3)}\n", encoding="utf-8")
    with opened(copied, EXACT, embedder=other) as kb:
        kb.ingest([docs])
        kb.catalog.publish(replace(kb.catalog.generation, revision=kb.catalog.revision))
        assert ChromaIndex(kb.catalog, model=HashEmbedder.fingerprint).check()

    exact = list(answers(copied, EXACT, embedder=other))

    assert list(answers(copied, INDEX, embedder=other)) == degraded(exact)
    assert exact != list(answers(copied, EXACT))


@pytest.fixture
def indexed(home: Path) -> Iterator[KnowledgeBase]:
    with opened(home, INDEX) as kb:
        yield kb


def test_the_previous_generation_is_kept_for_readers_and_older_ones_are_removed(
    indexed: KnowledgeBase, tmp_path: Path
) -> None:
    folder = tmp_path / "mi210"
    folder.mkdir()
    names: list[str] = []

    for version in range(4):
        (folder / "a.md").write_text(f"# Version\n\nThis is version {version}.\n", encoding="utf-8")
        indexed.ingest([folder])
        names.append(generation(indexed.settings.home).name)

    assert len(set(names)) == 4
    assert {p.name for p in (indexed.settings.home / "index").iterdir()} == set(names[-2:])


def test_an_ingest_that_changes_nothing_publishes_nothing(indexed: KnowledgeBase, manuals: Path) -> None:
    indexed.ingest([manuals])
    before = generation(indexed.settings.home)

    indexed.ingest([manuals])

    assert generation(indexed.settings.home) == before
    assert [p.name for p in (indexed.settings.home / "index").iterdir()] == [before.name]


def test_a_small_collection_gets_no_index(kb: KnowledgeBase, manuals: Path) -> None:
    kb.ingest([manuals])

    assert kb.catalog.generation is None
    assert not (kb.settings.home / "index").exists()

"""The vector index gives the answers of a scan, or gives way to it; nothing that happens to it fails a search."""

import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from ingest.pipeline import Ingest
from kb.catalog import Catalog, write_lock
from kb.model import SearchResult
from kb.session import KnowledgeBase
from kb.settings import Settings
from retrieval.chroma_index import ChromaIndex, current_folder
from tests.conftest import HashEmbedder

TARGETS = ("mi210", "mi250", "hexagon")
WORDS = [f"word{i}" for i in range(300)]
QUESTIONS = [" ".join(random.Random(seed).choices(WORDS, k=6)) for seed in range(30)]

SEARCH_ALONE = """
import sys
from pathlib import Path
from kb.session import KnowledgeBase
from kb.settings import Settings
from tests.conftest import HashEmbedder
for long_lived in (False, True):
    with KnowledgeBase(Settings.load(Path(sys.argv[1])), embedder=HashEmbedder(), long_lived=long_lived) as kb:
        for question in sys.argv[2:]:
            print(*[hit.passage.citation.id for hit in kb.search(question, target="mi210", limit=20).hits])
    print()
"""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of 1200 random windows, so many that Chroma has a graph on disk, some of them the same in two targets."""
    root = tmp_path_factory.mktemp("published")
    for target in TARGETS:
        (root / "docs" / target).mkdir(parents=True)
        for part in range(4):
            seed = f"{part}" if part == 0 else f"{target}{part}"
            words = random.Random(seed)
            sections = (f"## S{i}\n\n{' '.join(words.choices(WORDS, k=25))}\n" for i in range(100))
            (root / "docs" / target / f"{part}.md").write_text("# T\n\n" + "\n".join(sections), encoding="utf-8")
    with KnowledgeBase(Settings.load(root / "home"), embedder=HashEmbedder()) as kb:
        kb.ingest([root / "docs"])
        assert kb.catalog.counts()["chunk"] == 1200
    return root / "home"


@pytest.fixture
def copied(published: Path, home: Path) -> Path:
    """A copy of that home to spoil."""
    shutil.copytree(published, home)
    return home


def opened(home: Path, *, long_lived: bool = True, notify: Callable[[str], None] = print) -> KnowledgeBase:
    return KnowledgeBase(Settings.load(home), embedder=HashEmbedder(), long_lived=long_lived, notify=notify)


def answers(
    home: Path, *, long_lived: bool, target: str | None = "mi210", questions: Sequence[str] = QUESTIONS[:8]
) -> Iterator[list[tuple[str, float]]]:
    with opened(home, long_lived=long_lived) as kb:
        for question in questions:
            yield summary(kb.search(question, target=target, limit=20))


def summary(result: SearchResult) -> list[tuple[str, float]]:
    # The cosines of one matrix and of a part of it differ in their last bits.
    return [(hit.passage.citation.id, round(hit.score, 4)) for hit in result.hits]


def generation(home: Path) -> Path:
    with Catalog(home) as catalog:
        folder = current_folder(catalog, model=HashEmbedder.fingerprint)
    assert folder is not None
    return folder


@pytest.mark.parametrize("target", [None, "mi210"])
def test_index_and_scan_give_the_same_answers(published: Path, target: str | None) -> None:
    scanned = list(answers(published, long_lived=False, target=target, questions=QUESTIONS))

    with Catalog(published) as catalog:
        assert ChromaIndex(catalog, model=HashEmbedder.fingerprint).count() == 1200
    assert list(answers(published, long_lived=True, target=target, questions=QUESTIONS)) == scanned
    assert all(len(found) > 10 for found in scanned)


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
def test_a_lost_index_fails_no_search(copied: Path, damage: Callable[[Path], object]) -> None:
    scanned = list(answers(copied, long_lived=False))
    damage(generation(copied))

    assert list(answers(copied, long_lived=True)) == scanned


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


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
def test_a_spoilt_graph_fails_no_search_and_changes_no_answer(
    copied: Path, file: str, damage: Callable[[Path], object]
) -> None:
    [spoilt] = generation(copied).glob(f"*/{file}")
    damage(spoilt)

    # In a process of its own, since a crash in the library would take this one down.
    done = subprocess.run(
        [sys.executable, "-c", SEARCH_ALONE, copied, *QUESTIONS[:4]], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr[-500:]
    scanned, asked, _ = done.stdout.split("\n\n")
    assert asked == scanned


def test_an_index_that_breaks_while_it_is_open_fails_no_search(copied: Path) -> None:
    scanned = list(answers(copied, long_lived=False))

    with opened(copied) as kb:
        first = summary(kb.search(QUESTIONS[0], target="mi210", limit=20))
        shutil.rmtree(copied / "index")
        after = [summary(kb.search(question, target="mi210", limit=20)) for question in QUESTIONS[:8]]

    assert [first, *after] == [scanned[0], *scanned]


def test_an_index_that_cannot_be_opened_is_said(copied: Path) -> None:
    folder = generation(copied)
    (folder / "chroma.sqlite3").write_bytes(b"garbage" * 999)
    said: list[str] = []

    with opened(copied, notify=said.append) as kb:
        kb.search(QUESTIONS[0])

    assert [str(folder) in message for message in said] == [True]


def test_an_index_older_than_the_catalog_is_not_used(copied: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mi210"
    folder.mkdir()
    (folder / "late.md").write_text("# Late\n\nA zebra crosses.\n", encoding="utf-8")

    with opened(copied) as kb:
        before = generation(copied)
        with write_lock(copied):
            Ingest(kb.catalog, kb.targets, HashEmbedder()).run([folder])

        assert current_folder(kb.catalog, model=HashEmbedder.fingerprint) is None
        assert before.is_dir()
        assert kb.search("zebra", target="mi210").hits[0].passage.text == "A zebra crosses."


def test_an_index_of_another_model_is_not_used(copied: Path) -> None:
    with Catalog(copied) as catalog:
        assert current_folder(catalog, model="hash@2/other") is None


def test_the_generation_before_is_kept_for_readers_and_older_ones_are_removed(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    folder = tmp_path / "mi210"
    folder.mkdir()
    names: list[str] = []

    for version in range(4):
        (folder / "a.md").write_text(f"# Version\n\nThis is version {version}.\n", encoding="utf-8")
        kb.ingest([folder])
        names.append(generation(kb.settings.home).name)

    assert len(set(names)) == 4
    assert {p.name for p in (kb.settings.home / "index").iterdir()} == set(names[-2:])


def test_an_ingest_that_changes_nothing_publishes_nothing(kb: KnowledgeBase, manuals: Path) -> None:
    kb.ingest([manuals])
    before = generation(kb.settings.home)

    kb.ingest([manuals])

    assert generation(kb.settings.home) == before
    assert [p.name for p in (kb.settings.home / "index").iterdir()] == [before.name]

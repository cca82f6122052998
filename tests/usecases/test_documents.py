"""The documents of a home: found by what they are called, shown as a tree, removed with all that was made of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kb.errors import CitationError, DocumentError, TargetError
from kb.settings import Settings
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.sheets import ensure_sheets
from retrieval.chroma_index import ChromaIndex
from tests.conftest import HashEmbedder

TREE = """# Chip

Before all.

## Memory

### LDS

It has 64 KiB.

| bank | width |
|---|---|
| 0 | 4 |
| 1 | 4 |

```asm
ds_read_b128
| no | table |
```

### Caches

L1 and L2.

## Limits

### LDS

At most 64 KiB a workgroup.
"""


def write(root: Path) -> Path:
    """Manuals of two siblings without sheets of kb's own, one of which has a document that the other lacks."""
    for target, kib in (("mi210", 64), ("mi250", 96)):
        (root / target).mkdir(parents=True)
        (root / target / "memory.md").write_text(f"# Memory\n\n{kib} KiB of local data share.\n", encoding="utf-8")
    (root / "mi210" / "tree.md").write_text(TREE, encoding="utf-8")
    return root


@pytest.fixture
def manuals(tmp_path: Path) -> Path:
    return write(tmp_path / "manuals")


@pytest.fixture
def base(kb: KnowledgeBase, manuals: Path) -> KnowledgeBase:
    """One to change."""
    kb.ingest([manuals])
    return kb


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """One to read only, with a sheet that ships with kb."""
    root = tmp_path_factory.mktemp("read")
    with KnowledgeBase(Settings.load(root / "home"), embedder=HashEmbedder()) as opened:
        opened.ingest([write(root / "manuals")])
        ensure_sheets(opened, "h200")
        yield opened


def paths(base: KnowledgeBase, *names: str, target: str | None = None) -> list[str]:
    return [d.path for d in base.documents.below(names, target=target)]


def rows(base: KnowledgeBase) -> dict[str, int]:
    """Number of rows of everything that is made of a document."""
    tables = ("document", "section", "chunk", "table_row", "embedded", "vector", "fact", "lexical", "lexical_row")
    return {t: base.catalog._all(f"SELECT count(*) FROM {t}")[0][0] for t in tables}


def test_documents_are_listed_by_target_and_path(read: KnowledgeBase) -> None:
    listed = [(d.target, d.path) for d in read.documents.stored()]

    assert listed == sorted(listed)
    assert [d.path for d in read.documents.stored() if d.ships_with_kb] == ["hardware_docs/h200/h200.md"]


def test_a_target_has_the_documents_that_may_speak_for_it_and_no_siblings(read: KnowledgeBase) -> None:
    assert {d.target for d in read.documents.stored("mi210")} == {"mi210"}
    assert {d.target for d in read.documents.stored("amd")} == {"mi210", "mi250"}
    with pytest.raises(TargetError):
        read.documents.stored("mi300y")


@pytest.mark.parametrize(
    ("called", "path"),
    [
        ("tree.md", "mi210/tree.md"),
        ("mi210/memory.md", "mi210/memory.md"),
        ("…/mi250/memory.md", "mi250/memory.md"),
        ("./mi250/memory.md", "mi250/memory.md"),
    ],
)
def test_any_end_of_its_path_names_a_document(read: KnowledgeBase, called: str, path: str) -> None:
    assert read.documents.get(called).path == path


def test_a_document_is_called_by_its_file(base: KnowledgeBase, manuals: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(manuals / "mi250")

    assert base.documents.get(str(manuals / "mi210" / "memory.md")).path == "mi210/memory.md"
    assert base.documents.get("memory.md").path == "mi250/memory.md"


def test_the_end_of_several_paths_is_refused_with_all_of_them(read: KnowledgeBase) -> None:
    with pytest.raises(DocumentError, match="2 documents are called") as refused:
        read.documents.get("memory.md")

    assert "mi210/memory.md, mi250/memory.md" in refused.value.hint


def test_documents_that_would_have_one_path_are_told_apart_by_a_folder_more(
    base: KnowledgeBase, tmp_path: Path
) -> None:
    twin = tmp_path / "other" / "manuals" / "mi210" / "tree.md"
    twin.parent.mkdir(parents=True)
    twin.write_text("# Twin\n", encoding="utf-8")
    base.ingest([twin.parents[1]])

    paths = {d.path: d.title for d in base.documents.stored() if d.path.endswith("mi210/tree.md")}

    assert paths == {"mi210/tree.md": "Chip", "manuals/mi210/tree.md": "Twin"}
    assert {p: base.documents.get(p).title for p in paths} == paths
    assert base.documents.get(str(twin)).title == "Twin"


@pytest.mark.parametrize(("called", "near"), [("tre.md", "mi210/tree.md"), ("", ""), ("/", ""), ("ee.md", "")])
def test_an_unknown_name_is_refused_with_the_nearest_names(read: KnowledgeBase, called: str, near: str) -> None:
    with pytest.raises(DocumentError, match="no document is called") as refused:
        read.documents.below([called])

    assert near in refused.value.hint
    assert "kb docs list" in refused.value.hint


def test_a_folder_stands_for_all_documents_in_it(read: KnowledgeBase) -> None:
    inside = ["mi210/memory.md", "mi210/tree.md"]

    assert paths(read, "mi210") == paths(read, f"{read.settings.home.parent}/manuals/mi210/") == inside
    assert paths(read, "mi210", "tree.md") == inside
    assert paths(read, "memory.md", target="mi250") == ["mi250/memory.md"]


def test_the_tree_has_each_heading_with_its_line_and_the_passages_below_it(read: KnowledgeBase) -> None:
    outline = read.documents.outline("tree.md")

    lines = TREE.splitlines()
    assert [s.trail for s in outline.sections] == [
        ("Chip",),
        ("Chip", "Memory"),
        ("Chip", "Memory", "LDS"),
        ("Chip", "Memory", "Caches"),
        ("Chip", "Limits"),
        ("Chip", "Limits", "LDS"),
    ]
    assert [lines[s.line - 1] for s in outline.sections] == [line for line in lines if line.startswith("#")]
    assert outline.sections[0].passages == outline.holds.passages == outline.document.passages
    assert outline.sections[1].passages == outline.sections[2].passages + outline.sections[3].passages
    assert outline.passages == ()


def test_what_a_document_holds_is_counted(read: KnowledgeBase) -> None:
    holds = read.documents.outline("tree.md").holds

    assert (holds.sections, holds.tables, holds.rows, holds.code_blocks, holds.facts) == (6, 1, 2, 1, 0)


@pytest.mark.parametrize(
    ("heading", "lines"),
    [("Memory", [5, 7, 21]), ("memory > lds", [7]), ("LDS", [7, 27]), ("chip >  Limits", [25, 27]), ("ach", [21])],
)
def test_a_section_is_called_by_its_heading_or_the_end_of_its_trail(
    read: KnowledgeBase, heading: str, lines: list[int]
) -> None:
    outline = read.documents.outline("tree.md", section=heading)

    assert [s.line for s in outline.sections] == lines
    trails = {s.trail for s in outline.sections}
    assert outline.passages
    assert {p.citation.section for p in outline.passages} <= trails


def test_a_heading_that_is_not_there_is_refused_with_the_nearest(read: KnowledgeBase) -> None:
    with pytest.raises(DocumentError, match="no section 'Memmory'") as refused:
        read.documents.outline("tree.md", section="Memmory")

    assert "'Memory'" in refused.value.hint


@pytest.mark.parametrize(
    ("change", "state"), [(None, (True, True)), ("# Other\n", (True, False)), ("", (False, False))]
)
def test_a_document_says_whether_its_file_is_as_it_was_read(
    base: KnowledgeBase, manuals: Path, change: str | None, state: tuple[bool, bool]
) -> None:
    file = manuals / "mi210" / "tree.md"
    if change:
        file.write_text(change, encoding="utf-8")
    elif change is not None:
        file.unlink()

    outline = base.documents.outline("tree.md")

    assert (outline.file_exists, outline.file_same) == state


def test_a_row_and_a_fact_are_found_in_their_passage(read: KnowledgeBase) -> None:
    fact = read.facts("h200", "hbm_size")[0]
    bank = "SELECT key FROM table_row WHERE cells LIKE '%\"bank\"%'"
    row = read.catalog._all(bank)[0][0]

    assert fact.value in read.documents.passage(fact.citation.id).text
    assert "| 0 | 4 |" in read.documents.passage(f"{row}.1").text


def test_an_unknown_id_is_refused(read: KnowledgeBase) -> None:
    with pytest.raises(CitationError, match="000000000000"):
        read.documents.passage("000000000000")


def test_removal_leaves_nothing_of_a_document_and_all_of_the_others(base: KnowledgeBase, manuals: Path) -> None:
    before = rows(base)
    extra = manuals / "mi210" / "extra.md"
    table = (
        "| quantity | value | unit | condition | source |\n|---|---|---|---|---|\n| zebra_size | 5 | KiB | | guide |\n"
    )
    extra.write_text(f"# Zebra\n\nA zebra crosses.\n\n{table}\n| stripe |\n|---|\n| xylophone |\n", encoding="utf-8")
    base.ingest([manuals])
    cited = base.search("zebra crosses", target="mi210").hits[0].passage.citation
    assert cited.path == "mi210/extra.md"
    grown = rows(base)
    assert all(grown[table] > before[table] for table in grown)

    removed = base.documents.remove(["extra.md"])

    assert [d.path for d in removed] == ["mi210/extra.md"]
    assert rows(base) == before
    assert base.catalog._all("SELECT count(*) FROM lexical WHERE lexical MATCH 'zebra OR xylophone'")[0][0] == 0
    assert all(h.passage.citation.path != cited.path for h in base.search("zebra crosses", target="mi210").hits)
    assert base.catalog.fact(cited.id) is None
    with pytest.raises(CitationError):
        base.cite(cited.id)
    assert base.catalog.problems(base.models.embedder.fingerprint if base.models.embedder else None) == []


def test_a_vector_index_that_is_needed_is_made_anew_after_a_removal(home: Path, manuals: Path) -> None:
    with KnowledgeBase(Settings(home=home, exact_vectors=0), embedder=HashEmbedder()) as base:
        base.ingest([manuals])
        before = base.catalog.count_windows()
        base.documents.remove(["tree.md"])

        index = ChromaIndex(base.catalog, model=HashEmbedder.fingerprint)
        assert index.check().count == base.catalog.count_windows() < before


def test_a_removed_document_returns_with_the_next_ingest_of_its_folder(base: KnowledgeBase, manuals: Path) -> None:
    before = [d.path for d in base.documents.stored()]

    base.documents.remove(["mi210"])
    assert len(base.documents.stored()) == len(before) - 2
    base.ingest([manuals])

    assert [d.path for d in base.documents.stored()] == before


@pytest.mark.parametrize("names", [["tree.md", "nothing.md"], ["tree.md", "memory.md"], ["tree.md", "hardware_docs"]])
def test_documents_are_removed_all_or_none(base: KnowledgeBase, names: list[str]) -> None:
    ensure_sheets(base, "h200")
    before = rows(base)

    with pytest.raises(DocumentError):
        base.documents.remove(names)

    assert rows(base) == before


def test_what_ships_with_kb_is_not_removed_unless_it_no_longer_ships(base: KnowledgeBase) -> None:
    ensure_sheets(base, "h200")
    with pytest.raises(DocumentError, match="ships with kb"):
        base.documents.remove(["h200.md"])
    base.catalog._db.execute("UPDATE document SET source = 'sheet:/h200/gone.md' WHERE source LIKE 'sheet:/h200/%'")

    assert [d.path for d in base.documents.remove(["h200.md"])] == ["hardware_docs/h200/h200.md"]


def test_a_citation_stands_as_long_as_its_document_says_so(base: KnowledgeBase) -> None:
    cited = base.search("64 KiB", target="mi210").hits[0].passage.citation.id
    assert base.documents.stands(cited)
    assert not base.documents.stands("000000000000")

    base.documents.remove([document.path for document in base.documents.stored("mi210")])

    assert not base.documents.stands(cited)

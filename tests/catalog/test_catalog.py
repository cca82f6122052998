"""A document is stored whole or not at all, and is never cited with a text that it does not contain."""

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kb.catalog import Catalog
from kb.catalog.words import match_expression
from kb.errors import CitationError, StoreError
from tests.catalog.documents import MODEL, WEIGHTS, chunk_of, lds_document, text_document, vectors_of

FIRST_BYTES = "Each compute unit has 64 KiB of local data share.\nIt is shared by a workgroup."


@pytest.fixture
def catalog(home: Path) -> Iterator[Catalog]:
    """A catalog with one document of mi300x."""
    with Catalog(home) as opened:
        put(opened, 64)
        yield opened


def put(catalog: Catalog, kib: int) -> None:
    document = lds_document(kib)
    catalog.put(document, model=MODEL)
    catalog.put_vectors(vectors_of(document), model=MODEL)


def found(catalog: Catalog, *words: str, targets: set[str] | None = None) -> list[str]:
    """Texts that the lexical index finds for any of `words`."""
    hits = catalog.lexical(match_expression(list(words)), weights=WEIGHTS, targets=targets, limit=10)
    return [p.text for p in catalog.passages([chunk for chunk, _ in hits])]


def behind_the_back(home: Path, statement: str) -> None:
    db = sqlite3.connect(home / "catalog.sqlite", isolation_level=None)
    db.execute(statement)
    db.close()


def contents(home: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows, as another process sees them."""
    db = sqlite3.connect(home / "catalog.sqlite")
    tables = ("document", "section", "chunk", "embedded", "unembedded", "vector", "fact", "lexical", "state")
    rows = {table: db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in tables}
    db.close()
    return rows


@pytest.mark.parametrize("table", ["document", "section", "chunk", "embedded", "unembedded", "fact", "state"])
@pytest.mark.parametrize("before", ["", "a version before"])
def test_a_document_is_visible_whole_or_not_at_all(home: Path, table: str, before: str) -> None:
    """The last row of each table fails: everything written until then must be undone."""
    with Catalog(home) as catalog:
        if before:
            put(catalog, 64)
        seen = contents(home)
        behind_the_back(home, f"CREATE TRIGGER full BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'boom'); END")

        with pytest.raises(StoreError, match="boom"):
            catalog.put(lds_document(160), model=MODEL)

        assert contents(home) == seen
        assert bool(found(catalog, "64")) == bool(before)
        assert found(catalog, "160") == []


def test_a_catalog_can_be_written_after_storing_a_document_failed(home: Path) -> None:
    with Catalog(home) as catalog:
        behind_the_back(home, "CREATE TRIGGER full BEFORE INSERT ON fact BEGIN SELECT RAISE(ABORT, 'boom'); END")
        with pytest.raises(StoreError):
            put(catalog, 64)
        behind_the_back(home, "DROP TRIGGER full")

        put(catalog, 64)

        assert len(catalog.facts({"mi300x"})) == 2


def test_a_new_version_of_a_document_replaces_the_old_one(catalog: Catalog) -> None:
    before = catalog.counts()

    put(catalog, 160)

    assert catalog.counts() == before | {"vector": 4}
    assert found(catalog, "64") == []
    assert {f.value for f in catalog.facts({"mi300x"})} == {"160", "32"}


def test_a_removed_document_leaves_nothing_behind(home: Path, catalog: Catalog) -> None:
    catalog.remove(["/manuals/mi300x/lds.md"])
    catalog.drop_unused_vectors()

    assert [table for table, rows in contents(home).items() if rows] == ["state"]


def test_vectors_that_another_document_uses_are_kept(catalog: Catalog) -> None:
    copy = lds_document(source="/manuals/copy.md")
    catalog.put(copy, model=MODEL)

    catalog.remove(["/manuals/mi300x/lds.md"])

    assert catalog.drop_unused_vectors() == 0
    assert catalog.unembedded_texts(MODEL, limit=10) == {}


def test_only_a_change_of_documents_increases_the_revision(catalog: Catalog) -> None:
    revisions = [catalog.revision]
    put(catalog, 160)
    revisions.append(catalog.revision)
    catalog.remove(["/manuals/mi300x/lds.md"])
    revisions.append(catalog.revision)

    found(catalog, "64")
    catalog.touched("/manuals/mi300x/lds.md", stamp="[]")

    assert revisions == sorted(set(revisions))
    assert catalog.revision == revisions[-1]


def test_passages_come_in_the_order_of_the_given_ids(catalog: Catalog) -> None:
    for i in range(5):
        catalog.put(text_document(f"passage number {i}", source=f"/m/{i}.md"), model=MODEL)
    ids = [chunk for chunk, _ in catalog.lexical('"passage"', weights=WEIGHTS, targets=None, limit=10)]
    texts = {chunk: catalog.passages([chunk])[0].text for chunk in ids}

    for order in (ids, ids[::-1], ids[2:] + ids[:2], [ids[0], ids[0]]):
        assert [p.text for p in catalog.passages(order)] == [texts[chunk] for chunk in order]


def test_a_missing_passage_is_a_citation_error(catalog: Catalog) -> None:
    with pytest.raises(CitationError):
        catalog.passages([4711])


def test_a_citation_names_file_lines_version_and_headings(catalog: Catalog) -> None:
    text, table = catalog.passages([1, 2])

    assert str(text.citation) == "[mi300x/lds.md@abababab §LDS L3-4]"
    assert str(table.citation) == "[mi300x/lds.md@abababab §LDS > Banks L18-19]"
    assert [(f.quantity, f.citation.line_start, f.citation.line_end) for f in catalog.facts({"mi300x"})] == [
        ("lds_size", 18, 18),
        ("lds_banks", 19, 19),
    ]


def test_a_citation_resolves_to_its_lines_in_the_file_with_the_lines_around(catalog: Catalog) -> None:
    key = catalog.facts({"mi300x"})[0].citation.id

    source, lines = catalog.source_lines(key, around=1)

    assert source == "/manuals/mi300x/lds.md"
    assert [(number, cited) for number, _, cited in lines] == [(17, False), (18, True), (19, False)]
    assert lines[1][1].startswith("| lds_size | 64 |")


def test_a_passage_or_fact_is_found_by_its_id(catalog: Catalog) -> None:
    passage, fact = catalog.passages([1])[0], catalog.facts({"mi300x"})[1]

    assert passage.text == FIRST_BYTES
    assert catalog.passage(passage.citation.id) == passage
    assert catalog.fact(fact.citation.id) == fact


def test_the_id_of_an_unchanged_passage_stays_the_same_in_a_new_version(catalog: Catalog) -> None:
    before = catalog.passages([1])[0].citation.id
    document = lds_document()
    changed = replace(document, text=document.text.replace("lds_banks", "lds_ranks"), sha256="cd" * 32)

    catalog.put(changed, model=MODEL)

    assert catalog.passage(before).text == FIRST_BYTES


def test_two_occurrences_of_the_same_text_have_different_ids(catalog: Catalog) -> None:
    document = text_document("same same")
    twice = replace(document, chunks=(chunk_of(document.text, 0, 4), chunk_of(document.text, 5, 9)))

    catalog.put(twice, model=MODEL)

    ids = [chunk for chunk, _ in catalog.lexical('"same"', weights=WEIGHTS, targets=None, limit=10)]
    assert len({p.citation.id for p in catalog.passages(ids)}) == 2


@pytest.mark.parametrize("unknown", ["", "nope", "000000000000", "' OR 1=1 --"])
def test_an_unknown_id_is_a_citation_error(catalog: Catalog, unknown: str) -> None:
    assert catalog.fact(unknown) is None
    with pytest.raises(CitationError, match="id"):
        catalog.passage(unknown)
    with pytest.raises(CitationError, match="id"):
        catalog.source_lines(unknown, around=1)


@pytest.mark.parametrize(
    "alteration",
    [
        "UPDATE document SET text = replace(text, '64', '65')",
        "UPDATE document SET text = ' ' || text",
        "UPDATE document SET text = ''",
        "UPDATE chunk SET start = start + 1",
        "UPDATE chunk SET lead = 'quantity'",
    ],
)
def test_an_altered_passage_is_refused(home: Path, catalog: Catalog, alteration: str) -> None:
    key = catalog.passages([2])[0].citation.id

    behind_the_back(home, alteration)

    with pytest.raises(CitationError, match=key):
        catalog.passage(key)
    with pytest.raises(CitationError, match=key):
        catalog.passages([2])


@pytest.mark.parametrize(
    "alteration",
    ["UPDATE document SET text = replace(text, '64', '65')", "UPDATE fact SET start = start + 1"],
)
def test_an_altered_fact_is_refused(home: Path, catalog: Catalog, alteration: str) -> None:
    key = catalog.facts({"mi300x"})[0].citation.id

    behind_the_back(home, alteration)

    with pytest.raises(CitationError, match=key):
        catalog.fact(key)
    with pytest.raises(CitationError, match=key):
        catalog.facts({"mi300x"})


def test_only_documents_of_the_given_targets_are_searched(catalog: Catalog) -> None:
    catalog.put(lds_document(160, source="/manuals/mi355x/lds.md", target="mi355x"), model=MODEL)

    texts = {target: " ".join(found(catalog, "compute", targets={target})) for target in ("mi300x", "mi355x", "h200")}

    assert "64 KiB" in texts["mi300x"]
    assert "160" not in texts["mi300x"]
    assert "160 KiB" in texts["mi355x"]
    assert texts["h200"] == ""


def test_each_model_has_its_own_vectors(catalog: Catalog) -> None:
    document = lds_document()
    catalog.put(document, model="other@1")

    assert catalog.unembedded_texts(MODEL, limit=10) == {}
    assert catalog.unembedded_texts("other@1", limit=10) == document.window_digests()
    ids, matrix = catalog.vectors(MODEL)
    assert len(ids) == 2
    np.testing.assert_allclose(matrix, [[0.6, 0.8]] * 2, atol=1e-3)
    assert catalog.vectors("other@1")[0].tolist() == []


def test_texts_wait_for_their_vectors_in_the_order_of_reading_and_survive_a_new_process(home: Path) -> None:
    documents = [text_document(f"passage {i}", source=f"/m/{i}.md") for i in range(3)]
    with Catalog(home) as catalog:
        for document in documents:
            catalog.put(document, model=MODEL)

    with Catalog(home) as catalog:
        assert found(catalog, "passage") != []
        assert list(catalog.unembedded_texts(MODEL, limit=2)) == [d for i in (0, 1) for d in vectors_of(documents[i])]
        assert catalog.unembedded_characters(MODEL) == sum(len(w) for d in documents for w in d.chunks[0].windows)

        catalog.put_vectors(vectors_of(documents[1]), model=MODEL)

        assert [*catalog.unembedded_texts(MODEL, limit=9)] == [d for i in (0, 2) for d in vectors_of(documents[i])]
        assert len(catalog.unembedded_chunks(MODEL)) == 2
        assert catalog.vectors(MODEL)[1].shape == (1, 2)


def test_passages_without_a_vector_are_counted_in_their_scope_and_each_once(catalog: Catalog) -> None:
    document = text_document("one two", source="/m/1.md", target="h200")
    chunk = replace(chunk_of(document.text, 0, 3), windows=("o", "n", "e"))
    catalog.put(replace(document, chunks=(chunk,)), model=MODEL)

    waiting = {scope: len(catalog.unembedded_chunks(MODEL, targets=scope)) for scope in (None, ("h200",), ("mi300x",))}

    assert waiting == {None: 1, ("h200",): 1, ("mi300x",): 0}
    assert [catalog.count_chunks(scope) for scope in waiting] == [3, 1, 2]


def test_texts_of_a_removed_document_wait_no_longer(catalog: Catalog) -> None:
    catalog.put(text_document("gone"), model=MODEL)

    catalog.remove(["/manuals/text.md"])
    catalog.drop_unused_vectors()

    assert catalog.unembedded_texts(MODEL, limit=9) == {}


def test_a_document_for_no_model_waits_for_no_vector(home: Path) -> None:
    with Catalog(home) as catalog:
        catalog.put(text_document("words only"), model=None)

        assert contents(home)["unembedded"] == []


def test_a_bulk_of_documents_waits_for_the_disk_once_and_changes_no_revision(catalog: Catalog) -> None:
    def wal_is_synced() -> bool:
        return catalog._db.execute("PRAGMA synchronous").fetchone()[0] == 2

    with suppress(KeyboardInterrupt), catalog.bulk():
        put(catalog, 128)
        revision = catalog.revision
        assert not wal_is_synced()
        raise KeyboardInterrupt

    assert wal_is_synced()
    assert catalog.revision == revision
    assert "128 KiB" in found(catalog, "share")[0]

"""Opening a catalog creates the home, accepts one schema version, and gives a clear error if it fails."""

import sqlite3
from pathlib import Path

import pytest

from kb.catalog import Catalog
from kb.catalog.connection import SCHEMA_VERSION
from kb.errors import CorruptError, KbError, SchemaError, StoreError
from tests.catalog.documents import MODEL, lds_document


def raw(home: Path) -> sqlite3.Connection:
    """A direct connection to the file, without kb."""
    return sqlite3.connect(home / "catalog.sqlite", isolation_level=None)


def read_all(home: Path) -> None:
    with Catalog(home) as catalog:
        catalog.states()
        catalog.facts({"mi300x"})
        catalog.counts()


def test_a_home_is_created_with_all_its_parent_folders(tmp_path: Path) -> None:
    with Catalog(tmp_path / "a" / "b" / "home") as catalog:
        assert catalog.counts()["document"] == 0


def test_stored_documents_are_there_after_reopening(home: Path) -> None:
    with Catalog(home) as catalog:
        catalog.put(lds_document(), model=MODEL)

    with Catalog(home) as catalog:
        assert list(catalog.states()) == ["/manuals/mi300x/lds.md"]


def test_a_catalog_uses_a_write_ahead_log_and_full_syncing(home: Path) -> None:
    with Catalog(home) as catalog:
        modes = [catalog._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]

    assert modes == ["wal", 2]


@pytest.mark.parametrize("version", [0, SCHEMA_VERSION + 1])
def test_a_catalog_of_another_schema_version_is_refused_and_not_changed(home: Path, version: int) -> None:
    Catalog(home).close()
    with raw(home) as db:
        db.execute(f"PRAGMA user_version = {version}")
    db.close()

    with pytest.raises(SchemaError, match=f"version {version}") as caught:
        Catalog(home)

    assert caught.value.hint
    with raw(home) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (version,)
    db.close()


def test_a_file_that_is_not_a_database_is_an_error_and_not_changed(home: Path) -> None:
    home.mkdir()
    (home / "catalog.sqlite").write_text("these are my notes, not a database\n" * 50, encoding="utf-8")

    with pytest.raises(CorruptError) as caught:
        Catalog(home)

    assert "doctor" in caught.value.hint
    assert (home / "catalog.sqlite").read_text(encoding="utf-8").startswith("these are my notes")


def test_a_truncated_file_is_an_error(home: Path) -> None:
    with Catalog(home) as catalog:
        for i in range(20):
            catalog.put(lds_document(source=f"/manuals/{i}.md"), model=MODEL)
    file = home / "catalog.sqlite"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])

    with pytest.raises(CorruptError):
        read_all(home)


def test_if_the_home_is_a_file_the_error_names_it(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("", encoding="utf-8")

    with pytest.raises(StoreError, match=str(tmp_path / "home")):
        Catalog(tmp_path / "home")


def test_a_catalog_that_is_a_folder_is_a_store_error(home: Path) -> None:
    (home / "catalog.sqlite").mkdir(parents=True)

    with pytest.raises(KbError):
        Catalog(home)

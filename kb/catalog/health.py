"""Check a catalog and repair it."""

import sqlite3

from kb.catalog.database import Database
from kb.errors import ReadOnlyError, StoreError
from kb.types.records import text_digest

LEXICAL = ("lexical", "lexical_row")


class Health(Database):
    """Checks and repair of a catalog's file and rows."""

    def damage(self) -> list[str]:
        """Problems of the file itself, in words; empty if there are none."""
        found = [row[0] for row in self._all("PRAGMA integrity_check") if row[0] != "ok"]
        try:
            for index in LEXICAL:
                self._all(f"INSERT INTO {index}({index}) VALUES ('integrity-check')")
        except ReadOnlyError:
            pass  # FTS5 treats its check as a write
        except StoreError as error:
            found.append(f"lexical index: {error.message}")
        return found

    def problems(self, model: str | None) -> list[str]:
        """Damage, and lost or altered rows, in words; empty if there are none."""
        if found := self.damage():
            return found
        lost = self._lost(model)
        return [f"{len(documents)} documents {what}" for what, documents in lost.items() if documents]

    def repair(self, model: str | None) -> int:
        """Rebuild the lexical index and mark documents with lost or altered rows to be read again; return how many."""
        with self._transaction() as db:
            for index in LEXICAL:
                db.execute(f"INSERT INTO {index}({index}) VALUES ('rebuild')")
            documents = set[int]().union(*self._lost(model).values())
            db.executemany("UPDATE main.document SET pipeline = '' WHERE id = ?", ((i,) for i in documents))
        return len(documents)

    def _lost(self, model: str | None) -> dict[str, set[int]]:
        """Documents with inconsistent rows, by problem."""
        unindexed = """SELECT document_id FROM chunk WHERE id NOT IN (SELECT rowid FROM lexical) OR id IN (
                           SELECT chunk_id FROM table_row WHERE id NOT IN (SELECT rowid FROM lexical_row))"""
        unembedded = """SELECT c.document_id FROM chunk c JOIN embedded e ON e.chunk_id = c.id
                        WHERE :model IS NOT NULL AND NOT EXISTS (
                            SELECT 1 FROM vector v WHERE v.model = :model AND v.text_digest = e.text_digest)
                        AND NOT EXISTS (
                            SELECT 1 FROM unembedded u WHERE u.model = :model AND u.text_digest = e.text_digest)"""
        without_vector = self._all(unembedded, {"model": model})
        return {
            "have passages that are not in the lexical index": {r[0] for r in self._all(unindexed)},
            "have no vector of the embedding model for some passage": {r[0] for r in without_vector},
            "do not hold the text that their passages cite": self._altered(),
        }

    def _altered(self) -> set[int]:
        chunks: dict[int, list[sqlite3.Row]] = {}
        for row in self._all("SELECT document_id, lead, start, end, digest FROM chunk"):
            chunks.setdefault(row["document_id"], []).append(row)
        texts = ((i, self._all("SELECT text FROM document WHERE id = ?", (i,))[0][0]) for i in chunks)
        return {
            i
            for i, text in texts
            if any(text_digest(c["lead"], text[c["start"] : c["end"]]) != c["digest"] for c in chunks[i])
        }

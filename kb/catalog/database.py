"""The open SQLite file of a catalog: queries and transactions that raise kb's errors."""

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from kb.catalog.connection import connect, storage_errors

PRIVATE = "SELECT id FROM main.document WHERE private"
"""Query for the ids of the private documents, which have an index of their own."""
Values = Sequence[object] | Mapping[str, object]
"""The values of a query: in the order of its `?`, or by the names of its `:name`."""


class Database:
    """One connection to the SQLite file; not for use by several threads.

    Args:
        without_private: Whether all queries see no private document, nor what it states.
    """

    def __init__(self, home: Path, *, without_private: bool = False) -> None:
        self.home = home
        self._db = connect(home)
        self._of_seen = ""
        """SQL condition on chunk ids `id` of a query that does not join `document`."""
        if without_private:  # SQLite finds a temporary view before the table of its name
            self._db.execute(f"CREATE TEMP VIEW document AS SELECT * FROM main.document WHERE id NOT IN ({PRIVATE})")
            self._of_seen = f"AND {{id}} NOT IN (SELECT id FROM chunk WHERE document_id IN ({PRIVATE}))"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    @property
    def revision(self) -> int:
        """Number that grows with each change of documents; a vector index of another revision is out of date."""
        row = self._one("SELECT value FROM state WHERE key = 'revision'")
        return int(row["value"]) if row else 0

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Inside this context every read sees the catalog's current state, even if another process writes."""
        with storage_errors(self.home):
            self._db.execute("BEGIN")
        try:
            yield
        finally:
            self._db.execute("ROLLBACK")

    def _all(self, query: str, values: Values = ()) -> list[sqlite3.Row]:
        with storage_errors(self.home):
            return self._db.execute(query, values).fetchall()

    def _one(self, query: str, values: Values = ()) -> sqlite3.Row | None:
        rows = self._all(query, values)
        return rows[0] if rows else None

    def _insert(self, table: str, fields: Mapping[str, object]) -> int:
        names, marks = ", ".join(fields), ", ".join("?" * len(fields))
        cursor = self._db.execute(f"INSERT INTO main.{table} ({names}) VALUES ({marks})", tuple(fields.values()))
        return cursor.lastrowid or 0

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with storage_errors(self.home):
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
                self._db.execute("INSERT OR REPLACE INTO state VALUES ('revision', ?)", (str(self.revision + 1),))
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise


def among(values: Collection[str] | Collection[int] | None, *, column: str = "d.target") -> tuple[str, tuple[str, ...]]:
    """SQL condition that limits a query to `values` in a column, and its parameters; empty for None."""
    if values is None:
        return "", ()
    return f"AND {column} IN (SELECT value FROM json_each(?))", (json.dumps(sorted(values)),)

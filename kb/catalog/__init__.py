"""The catalog of a home: one SQLite file with documents, facts, vectors and the lexical index."""

from kb.catalog.connection import storage_errors
from kb.catalog.lock import patience_s, write_lock
from kb.catalog.store import Catalog

__all__ = ["Catalog", "patience_s", "storage_errors", "write_lock"]

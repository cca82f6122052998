"""The catalog of a home: one SQLite file with documents, facts, vectors and the lexical index."""

from kb.catalog.connection import storage_errors
from kb.catalog.lock import patience_s, write_lock
from kb.catalog.store import Catalog
from kb.types.records import (
    ChunkRecord,
    DocumentRecord,
    DocumentState,
    FactRecord,
    Generation,
    SectionRecord,
    text_digest,
)

__all__ = [
    "Catalog",
    "ChunkRecord",
    "DocumentRecord",
    "DocumentState",
    "FactRecord",
    "Generation",
    "SectionRecord",
    "patience_s",
    "storage_errors",
    "text_digest",
    "write_lock",
]

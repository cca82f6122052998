"""Vectors of passages, and the texts that wait for theirs: documents are stored before they are embedded."""

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from kb.catalog.connection import storage_errors
from kb.catalog.database import Database, among
from kb.types.embedding import Vectors

STORED_VECTOR = np.dtype("<f2")
"""Half precision moves a cosine by less than 0.0005 and halves the file."""


class VectorTables(Database):
    """The vectors of a catalog. Texts that wait for theirs outlive the process that read them."""

    def _put_unembedded(self, texts: Mapping[str, str], model: str) -> None:
        """Store those of `texts`, by digest, that have no vector of `model`. The caller began a transaction."""
        self._db.executemany(
            """INSERT OR IGNORE INTO unembedded (model, text_digest, text) SELECT :model, :digest, :text
               WHERE NOT EXISTS (SELECT 1 FROM vector WHERE model = :model AND text_digest = :digest)""",
            ({"model": model, "digest": digest, "text": text} for digest, text in texts.items()),
        )

    def unembedded_texts(self, model: str, *, limit: int) -> dict[str, str]:
        """The first `limit` texts that have no vector of `model` yet, by digest."""
        rows = self._all("SELECT text_digest, text FROM unembedded WHERE model = ? ORDER BY id LIMIT ?", (model, limit))
        return {row["text_digest"]: row["text"] for row in rows}

    def unembedded_characters(self, model: str) -> int:
        """Total length of the texts that have no vector of `model` yet."""
        return int(self._all("SELECT coalesce(sum(length(text)), 0) FROM unembedded WHERE model = ?", (model,))[0][0])

    def unembedded_chunks(self, model: str, *, targets: Collection[str] | None = None) -> frozenset[int]:
        """Chunks of these targets' documents (None: of all) with a text that has no vector of `model` yet."""
        scope, names = among(targets)
        rows = self._all(
            f"""SELECT DISTINCT c.id FROM unembedded u CROSS JOIN embedded e ON e.text_digest = u.text_digest
                JOIN chunk c ON c.id = e.chunk_id JOIN document d ON d.id = c.document_id
                WHERE u.model = ? {scope}""",
            (model, *names),
        )
        return frozenset(row["id"] for row in rows)

    def count_chunks(self, targets: Collection[str] | None) -> int:
        """Number of chunks of these targets' documents (None: of all)."""
        scope, names = among(targets)
        query = f"SELECT count(*) FROM chunk c JOIN document d ON d.id = c.document_id WHERE true {scope}"
        return int(self._all(query, names)[0][0])

    def put_vectors(self, vectors: Mapping[str, NDArray[np.float32]], *, model: str) -> None:
        """Store vectors, by text digest; these texts wait no longer. All at once or not at all."""
        with self._transaction() as db:
            db.executemany(
                "INSERT OR IGNORE INTO vector VALUES (?, ?, ?)",
                ((model, digest, vector.astype(STORED_VECTOR).tobytes()) for digest, vector in vectors.items()),
            )
            db.executemany(
                "DELETE FROM unembedded WHERE model = ? AND text_digest = ?", ((model, digest) for digest in vectors)
            )

    def drop_unused_vectors(self) -> int:
        """Delete vectors and waiting texts that no chunk uses; return how many vectors."""
        unused = "WHERE text_digest NOT IN (SELECT text_digest FROM embedded)"
        with storage_errors(self.home):
            self._db.execute(f"DELETE FROM unembedded {unused}")
            return self._db.execute(f"DELETE FROM vector {unused}").rowcount

    def vectors(
        self, model: str, *, targets: Collection[str] | None = None, chunks: Collection[int] | None = None
    ) -> tuple[NDArray[np.int64], Vectors]:
        """Chunk ids (windows,) and vectors (windows, dimensions) of all windows in scope that `model` embedded."""
        scope, names = among(targets)
        near, ids = among(chunks, column="c.id")
        rows = self._all(
            # CROSS JOIN reads the vectors last; SQLite would read all of them to find those of a few chunks.
            f"""SELECT e.chunk_id, v.value FROM document d JOIN chunk c ON c.document_id = d.id
                JOIN embedded e ON e.chunk_id = c.id
                CROSS JOIN vector v ON v.model = ? AND v.text_digest = e.text_digest
                WHERE true {scope} {near} ORDER BY e.chunk_id, e.ordinal""",
            (model, *names, *ids),
        )
        owners = np.fromiter((row["chunk_id"] for row in rows), dtype=np.int64, count=len(rows))
        matrix = np.frombuffer(b"".join(row["value"] for row in rows), dtype=STORED_VECTOR)
        return owners, matrix.reshape(len(rows), -1).astype(np.float32) if len(rows) else np.zeros((0, 0), np.float32)

    def has_vectors(self, model: str) -> bool:
        return self._one("SELECT 1 FROM vector WHERE model = ? LIMIT 1", (model,)) is not None

    def count_windows(self) -> int:
        """Number of embedded windows; a text in several chunks counts once for each."""
        return int(self._all("SELECT count(*) FROM embedded")[0][0])

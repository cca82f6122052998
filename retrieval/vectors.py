"""Dense search by comparing every vector in memory, and the protocol of all dense searches."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kb.catalog import Catalog
from kb.types.embedding import Vectors
from retrieval.fusion import Scores

BLOCK = 1024
"""Vectors compared with all queries before the next ones, so that they are read from memory once."""


class VectorIndex(Protocol):
    def nearest(self, queries: Vectors, *, targets: Collection[str] | None, limit: int) -> list[Scores]:
        """For each query, the best chunks with the cosine of their best window, highest first.

        Args:
            targets: Names of the targets whose documents are searched; None for all.

        Raises:
            StoreError: the index cannot be used.
        """


class ExactIndex:
    """Compares every vector. The vectors of a target are read on first use and again after the catalog changes."""

    def __init__(self, catalog: Catalog, *, model: str) -> None:
        self._catalog = catalog
        self._model = model
        self._revision = -1
        self._parts: dict[str, Windows | None] = {}

    def nearest(self, queries: Vectors, *, targets: Collection[str] | None, limit: int) -> list[Scores]:
        if self._revision != self._catalog.revision:
            self._revision = self._catalog.revision
            self._parts.clear()
        stored = self._catalog.count_by_target()
        parts = [part for name in stored if (targets is None or name in targets) and (part := self._part(name))]
        if not parts:
            return [{} for _ in queries]
        chunks = np.concatenate([part.chunks for part in parts])
        cosines = np.concatenate([part.cosines(queries) for part in parts], axis=1)
        return [_best(chunks, own, limit) for own in cosines]

    def _part(self, target: str) -> "Windows | None":
        """The vectors of `target`; None if it has none."""
        if target not in self._parts:
            self._parts[target] = Windows.of(*self._catalog.vectors(self._model, targets=[target]))
        return self._parts[target]


@dataclass(frozen=True, slots=True)
class Windows:
    """The vectors of some chunks, one or more for each chunk."""

    chunks: NDArray[np.int64]
    """Ascending."""
    starts: NDArray[np.int64]
    """Row of each chunk's first window."""
    matrix: Vectors

    @classmethod
    def of(cls, owners: NDArray[np.int64], matrix: Vectors) -> "Windows | None":
        """Group the rows by chunk: `owners` is the chunk id of each row, ascending. None if there are no rows."""
        return cls(*np.unique(owners, return_index=True), matrix) if len(owners) else None

    def cosines(self, queries: Vectors) -> NDArray[np.float32]:
        """Cosine of each chunk's best window with each of `queries`: shape (queries, chunks)."""
        cosines = np.empty((len(queries), len(self.matrix)), np.float32)
        for start in range(0, len(self.matrix), BLOCK):
            block = self.matrix[start : start + BLOCK]
            for row, query in zip(cosines, queries, strict=True):
                # `@` could give equal rows different numbers by position, and its second thread wait for a busy core.
                np.vecdot(block, query, out=row[start : start + BLOCK])
        return np.maximum.reduceat(cosines, self.starts, axis=1)

    def best(self, query: NDArray[np.float32], limit: int) -> Scores:
        return _best(self.chunks, self.cosines(query[None])[0], limit)


def _best(chunks: NDArray[np.int64], cosines: NDArray[np.float32], limit: int) -> Scores:
    """The `limit` best chunks, highest first, ties by chunk id."""
    if len(chunks) > limit:
        least = np.partition(cosines, -limit)[-limit]
        chunks, cosines = chunks[cosines >= least], cosines[cosines >= least]
    order = np.lexsort((chunks, -cosines))[:limit]
    return {int(chunks[i]): float(cosines[i]) for i in order}

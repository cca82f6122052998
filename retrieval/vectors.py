"""Dense search: vectors held in memory and compared one by one, and what it has in common with other ways."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kb.catalog import Catalog
from kb.model.protocols import Vectors
from retrieval.fusion import Scores


class VectorIndex(Protocol):
    def nearest(self, queries: Vectors, *, targets: Collection[str] | None, limit: int) -> list[Scores]:
        """For each query the best chunks with the cosine of their best window, highest first.

        Args:
            targets: Names of the targets whose documents take part; None for all.

        Raises:
            StoreError: the index cannot be used.
        """


class ExactIndex:
    """Reads the vectors of a target when it is first asked for, and again when the catalog has changed."""

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
        return [_best(chunks, np.concatenate([part.cosines(query) for part in parts]), limit) for query in queries]

    def _part(self, target: str) -> "Windows | None":
        """None: the target has no vectors."""
        if target not in self._parts:
            self._parts[target] = Windows.of(*self._catalog.vectors(self._model, targets=[target]))
        return self._parts[target]


@dataclass(frozen=True, slots=True)
class Windows:
    """The vectors of some chunks, of which each has one or more."""

    chunks: NDArray[np.int64]
    """Ascending."""
    starts: NDArray[np.int64]
    """Row of each chunk's first window."""
    matrix: Vectors

    @classmethod
    def of(cls, owners: NDArray[np.int64], matrix: Vectors) -> "Windows | None":
        """`owners` names the chunk of each row, ascending. None: there is no row."""
        return cls(*np.unique(owners, return_index=True), matrix) if len(owners) else None

    def cosines(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Of each chunk's best window."""
        # Unlike `@`: equal rows give equal numbers wherever they stand, and no second thread waits for a busy core.
        return np.maximum.reduceat(np.vecdot(self.matrix, query), self.starts)

    def best(self, query: NDArray[np.float32], limit: int) -> Scores:
        return _best(self.chunks, self.cosines(query), limit)


def _best(chunks: NDArray[np.int64], cosines: NDArray[np.float32], limit: int) -> Scores:
    """The `limit` best, highest first, ties by chunk id."""
    if len(chunks) > limit:
        least = np.partition(cosines, -limit)[-limit]
        chunks, cosines = chunks[cosines >= least], cosines[cosines >= least]
    order = np.lexsort((chunks, -cosines))[:limit]
    return {int(chunks[i]): float(cosines[i]) for i in order}

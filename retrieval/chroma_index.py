"""The vector index for large collections: a Chroma collection built from the catalog, immutable once published.

Local Chroma is not process-safe and a kill can make it unreadable, so it is only a cache. Each generation has its own
folder; a row in the catalog names the current one. If the index fails in any way, search compares every vector instead.
"""

import hashlib
import shutil
import uuid
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from kb.catalog import Catalog, Generation
from kb.errors import StoreError
from kb.types.embedding import Vectors
from retrieval.fusion import Scores
from retrieval.vectors import Windows

if TYPE_CHECKING:
    from chromadb.api.client import Client
    from chromadb.api.models.Collection import Collection as ChromaCollection

COLLECTION = "windows"
GRAPH = {"max_neighbors": 32, "ef_construction": 200, "ef_search": 1000}
"""HNSW settings: neighbours per vector, and the search width while building and while querying. They were chosen on
64,718 real vectors (benchmarks/results/scale.json): Chroma's default values miss one neighbour in twenty."""

OVERFETCH = 2
"""Windows requested per wanted chunk, because a chunk may have several."""


class ChromaIndex:
    """The published generation of a catalog. It is opened on first use and reopened after a newer one is published.

    Every failure of Chroma is a StoreError.
    """

    def __init__(self, catalog: Catalog, *, model: str) -> None:
        self._catalog = catalog
        self._model = model
        self._collection: ChromaCollection | None = None
        self.folder: Path | None = None
        """Folder of the open generation."""

    def nearest(self, queries: Vectors, *, targets: Collection[str] | None, limit: int) -> list[Scores]:
        """See `VectorIndex`. Chroma finds the nearest chunks; their cosines are computed from the catalog's vectors."""
        collection = self._current()
        where: Any = {"target": {"$in": sorted(targets)}} if targets is not None else None
        with _chroma_errors(self.folder):
            found = collection.query(query_embeddings=queries, n_results=OVERFETCH * limit, where=where, include=[])
        near = {int(key.partition(":")[0]) for keys in found["ids"] for key in keys}
        windows = Windows.of(*self._catalog.vectors(self._model, targets=targets, chunks=near))
        return [windows.best(query, limit) if windows else {} for query in queries]

    def count(self) -> int:
        collection = self._current()
        with _chroma_errors(self.folder):
            return int(collection.count())

    def _current(self) -> "ChromaCollection":
        """The collection that matches the current documents.

        Raises:
            StoreError: none is published, or its files were altered after publication.
        """
        folder, generation = current_folder(self._catalog, model=self._model), self._catalog.generation
        if folder is None or generation is None:
            raise StoreError(
                f"{self._catalog.home} has no up-to-date vector index",
                hint="the next `kb ingest` builds it, as does `kb doctor --repair`",
            )
        if self._collection is None or self.folder != folder:
            # Chroma trusts its graph files: an altered one crashes the process. Reading them is cheaper than opening.
            if _checksum(folder) != generation.checksum:
                raise StoreError(f"the vector index {folder} has been altered", hint="`kb doctor --repair`")
            with _chroma_errors(folder):
                self._collection = _client(folder).get_collection(COLLECTION, embedding_function=None)
            self.folder = folder
        return self._collection


@contextmanager
def _chroma_errors(folder: Path | None) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise StoreError(
            f"the vector index {folder} cannot be used: {error}", hint="`kb doctor --repair` rebuilds it"
        ) from error


def publish(catalog: Catalog, *, model: str) -> Generation:
    """Build a generation from the catalog's vectors and make it the current one. The caller holds the write lock."""
    index = catalog.home / "index"
    name = f"gen-{catalog.revision:08d}-{uuid.uuid4().hex[:8]}"
    folder = index / name
    ids, matrix = catalog.vectors(model)
    targets = catalog.targets_of(ids.tolist())
    try:
        with _chroma_errors(folder):
            _build(folder, ids, matrix, [targets[chunk] for chunk in ids.tolist()])
    except StoreError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    checksum = _checksum(folder)
    generation = Generation(name=name, revision=catalog.revision, model=model, count=len(ids), checksum=checksum)
    before = catalog.generation
    catalog.publish(generation)
    keep = {name, before.name if before else name}  # a reader may still have the previous one open
    for old in index.iterdir():
        if old.name not in keep:
            shutil.rmtree(old, ignore_errors=True)
    return generation


def _build(folder: Path, ids: NDArray[np.int64], matrix: Vectors, targets: Sequence[str]) -> None:
    client = _client(folder)
    collection = client.create_collection(
        COLLECTION,
        embedding_function=None,
        # The last vector makes Chroma write its graph files now. Otherwise a later reader would write them.
        configuration=cast("Any", {"hnsw": GRAPH | {"space": "cosine", "sync_threshold": max(2, len(ids))}}),
    )
    size = client.get_max_batch_size()
    for start in range(0, len(ids), size):
        batch = slice(start, start + size)
        collection.upsert(
            ids=[f"{chunk}:{start + i}" for i, chunk in enumerate(ids[batch].tolist())],
            embeddings=matrix[batch],
            metadatas=[{"target": target} for target in targets[batch]],
        )
    client.close()


def current_folder(catalog: Catalog, *, model: str) -> Path | None:
    """Folder of the generation that matches the current catalog; None if there is none."""
    generation = catalog.generation
    if generation is None or (generation.revision, generation.model) != (catalog.revision, model):
        return None
    folder = catalog.home / "index" / generation.name
    return folder if folder.is_dir() else None


def _checksum(folder: Path) -> str:
    """Checksum over the files that Chroma no longer writes, which excludes its own SQLite file."""
    whole = hashlib.blake2b(digest_size=16)
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.startswith("chroma.sqlite3")):
        whole.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()


def _client(folder: Path) -> "Client":
    import chromadb
    from chromadb.config import Settings

    folder.mkdir(parents=True, exist_ok=True)
    client = chromadb.PersistentClient(path=str(folder), settings=Settings(anonymized_telemetry=False))
    return cast("Client", client)

"""The vector index for large collections: a Chroma collection built from the catalog, immutable once published.

Local Chroma is not process-safe and a kill can make it unreadable, so it is only a cache. Each generation has its own
folder, or is a collection on a server. A row in the catalog names the current one. If the index fails in any way,
search compares every vector instead.
"""

import hashlib
import shutil
import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb.catalog import Catalog
from kb.errors import StoreError
from kb.types.embedding import Vectors
from kb.types.records import Generation
from retrieval.fusion import Scores
from retrieval.vectors import Windows

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.collection_configuration import CreateCollectionConfiguration
    from chromadb.api.models.Collection import Collection as ChromaCollection

COLLECTION = "windows"
GRAPH = {"max_neighbors": 32, "ef_construction": 200, "ef_search": 1000}
"""HNSW settings: neighbours per vector, and the search width while building and while querying. They were chosen on
64,718 real vectors (benchmarks/results/scale.json): Chroma's default values miss one neighbour in twenty."""

BATCH, OVERFETCH = 1000, 2
"""Windows written at a time, and those requested per wanted chunk, because a chunk may have several."""


class ChromaIndex:
    """The published generation of a catalog. Every failure of Chroma is a StoreError."""

    def __init__(self, catalog: Catalog, *, model: str, kept: "Folders | None" = None) -> None:
        self._catalog = catalog
        self._model = model
        self._kept = kept or Folders(catalog.home)
        self._open: Any = None
        self._place = ""  # of what is open

    def nearest(self, queries: Vectors, *, targets: Collection[str] | None, limit: int) -> list[Scores]:
        """See `VectorIndex`. Chroma finds the nearest chunks; their cosines are computed from the catalog's vectors."""
        self.check()
        where = {"target": {"$in": sorted(targets)}} if targets is not None else None
        with chroma_errors(self._place):
            found = self._open.query(query_embeddings=queries, n_results=OVERFETCH * limit, where=where, include=[])
            near = {int(key.partition(":")[0]) for keys in found["ids"] for key in keys}
        windows = Windows.of(*self._catalog.vectors(self._model, targets=targets, chunks=near))
        return [windows.best(query, limit) if windows else {} for query in queries]

    def check(self) -> Generation:
        """Open the generation of the current documents, unless it is open. Raises StoreError if there is none."""
        generation = self._catalog.generation
        place = f"{self._kept.root}/{generation.name if generation else ''}"
        with chroma_errors(place):
            if not generation or (generation.revision, generation.model) != (self._catalog.revision, self._model):
                raise ValueError("the documents have changed since the last was built")
            if self._place != place:
                self._open = self._kept.open(generation.name, generation.checksum)
                if (held := self._open.count()) != generation.count:
                    raise ValueError(f"it holds {held} of {generation.count} vectors")
                self._place = place
        return generation

    def ensure(self) -> Generation:
        """Like `check`, but a generation that cannot be used is built anew. The caller holds the write lock."""
        with suppress(StoreError):
            return self.check()
        return self.publish()

    def publish(self) -> Generation:
        """Make a generation of the catalog's vectors the current one. The caller holds the write lock."""
        catalog, kept = self._catalog, self._kept
        name = f"{kept.prefix}{catalog.revision:08d}-{uuid.uuid4().hex[:8]}"
        ids, matrix = catalog.vectors(self._model)
        targets = catalog.targets_of(ids.tolist())
        # The last vector makes Chroma write its graph files now. Otherwise a later reader would write them.
        graph: Any = {"hnsw": GRAPH | {"space": "cosine", "sync_threshold": max(2, len(ids))}}
        keep = {before.name} if (before := catalog.generation) else set()  # a reader may have it open
        try:
            with chroma_errors(f"{kept.root}/{name}"):
                with kept.made(name, graph) as collection:
                    for start in range(0, len(ids), BATCH):
                        chunks = ids[start : start + BATCH].tolist()
                        collection.upsert(
                            ids=[f"{chunk}:{start + i}" for i, chunk in enumerate(chunks)],
                            embeddings=matrix[start : start + BATCH],
                            metadatas=[{"target": targets[chunk]} for chunk in chunks],
                        )
                generation = Generation(name, catalog.revision, self._model, len(ids), kept.checksum(name))
            catalog.publish(generation)
            keep.add(name)
        finally:
            kept.remove_all_but(keep)
        return generation


@contextmanager
def chroma_errors(place: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise StoreError(f"the vector index {place} cannot be used: {error}", hint="`kb doctor --repair`") from error


class Folders:
    """Each generation in a folder of the home."""

    prefix = "gen-"

    def __init__(self, home: Path) -> None:
        self.root: Path | str = home / "index"

    def open(self, name: str, checksum: str) -> "ChromaCollection":
        # Chroma trusts its graph files: an altered one crashes the process. Reading them is cheaper than opening.
        if self.checksum(name) != checksum:
            raise ValueError("it is gone or altered")
        return self._client(name).get_collection(COLLECTION, embedding_function=None)

    @contextmanager
    def made(self, name: str, configuration: "CreateCollectionConfiguration") -> Iterator["ChromaCollection"]:
        """A new collection, to be filled inside this context."""
        client: Any = self._client(name)
        yield client.create_collection(COLLECTION, embedding_function=None, configuration=configuration)
        client.close()

    def checksum(self, name: str) -> str:
        """Checksum over the files that Chroma no longer writes, which excludes its own SQLite file."""
        whole, folder = hashlib.blake2b(digest_size=16), Path(self.root, name)
        for path in sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.startswith("chroma.sqlite3")):
            whole.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
        return whole.hexdigest()

    def remove_all_but(self, names: Collection[str]) -> None:
        for path in Path(self.root).glob("*"):
            if path.name not in names:
                shutil.rmtree(path, ignore_errors=True)

    def _client(self, name: str) -> "ClientAPI":
        import chromadb
        from chromadb.config import Settings

        folder = Path(self.root, name)
        folder.mkdir(parents=True, exist_ok=True)
        return chromadb.PersistentClient(path=str(folder), settings=Settings(anonymized_telemetry=False))

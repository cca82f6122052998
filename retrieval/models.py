"""The models and the vector index of a home."""

from collections.abc import Callable, Collection
from functools import cached_property, partial

from kb.catalog import Catalog
from kb.errors import MissingModelError, StoreError
from kb.settings import NO_MODEL, Settings, cache_dir
from kb.types.embedding import Embedder
from retrieval.chroma_index import ChromaIndex
from retrieval.chroma_server import WRITE_S, kept_by
from retrieval.embedding.compiler import load_embedder
from retrieval.fusion import fuse
from retrieval.retriever import Retriever
from retrieval.vectors import ExactIndex, VectorIndex


class Models:
    """The embedding model and the vectors of a home, each loaded when it is first needed."""

    def __init__(
        self, catalog: Catalog, settings: Settings, *, notify: Callable[[str], None], embedder: Embedder | None
    ) -> None:
        self._catalog = catalog
        self._settings = settings
        self._notify = notify
        self._given_embedder = embedder

    @cached_property
    def embedder(self) -> Embedder | None:
        """The embedding model; None for lexical search, and the user is told if the model is missing."""
        if self._given_embedder is not None:
            return self._given_embedder
        if self._settings.embedding_model == NO_MODEL:
            return None
        try:
            return load_embedder(
                self._settings.embedding_model, cache=cache_dir(), notify=self._notify, stored=self._catalog.has_vectors
            )
        except MissingModelError as error:
            self._notify(f"search is lexical only: {error.message}; {error.hint}")
            return None

    def retriever(self, chunks: Collection[int] | None = None) -> Retriever:
        """A retriever with the models and weights of the settings, which finds only these chunks (None: all)."""
        fusion = partial(fuse, lexical_weight=self._settings.lexical_weight)
        indexes = self._indexes if self.needs_index() else self._indexes[1:]
        return Retriever(self._catalog, self.embedder, indexes, fusion, chunks)

    def needs_index(self) -> bool:
        """Whether the home has so many vectors that searches without a target use the published index."""
        return self._catalog.count_windows() > self._settings.exact_vectors

    def publish_index(self) -> None:
        """Rebuild the vector index if it is needed and out of date. If that fails, the user is told."""
        if self.embedder is None or not self.needs_index():
            return
        try:
            ChromaIndex(self._catalog, model=self.embedder.fingerprint, kept=kept_by(self._settings, WRITE_S)).ensure()
        except StoreError as error:
            self._notify(f"searches will compare every vector: {error.message}")

    @cached_property
    def _indexes(self) -> tuple[VectorIndex, ...]:
        """The sources of dense candidates: the published index, and the comparison of every vector."""
        if self.embedder is None:
            return ()
        catalog, model = self._catalog, self.embedder.fingerprint
        return ChromaIndex(catalog, model=model, kept=kept_by(self._settings)), ExactIndex(catalog, model=model)

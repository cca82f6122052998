"""The second phase of an ingest: give vectors to the passages that have none yet."""

from collections.abc import Callable

from kb.catalog import Catalog
from kb.types.documents import Progress
from kb.types.embedding import Embedder

BATCH_TEXTS = 256
"""Number of texts that are embedded together and stored in one transaction; a kill loses at most so many vectors."""


def embed_missing(catalog: Catalog, embedder: Embedder, tell: Callable[[Progress], None]) -> None:
    """Embed all texts of the catalog that wait for vectors, whichever ingest read them, in the order of reading.

    Raises:
        LocalModelError: the model cannot be used. What was embedded before is stored.
    """
    model = embedder.fingerprint
    characters, embedded = catalog.unembedded_characters(model), 0
    total = len(catalog.unembedded_chunks(model))
    while texts := catalog.unembedded_texts(model, limit=BATCH_TEXTS):
        if not embedded:
            tell(Progress(phase="embedding", done=0, total=total, share=0))
        vectors = embedder.embed_documents(list(texts.values()))
        catalog.put_vectors(dict(zip(texts, vectors, strict=True)), model=model)
        embedded += sum(map(len, texts.values()))
        done = total - len(catalog.unembedded_chunks(model))
        tell(Progress(phase="embedding", done=done, total=total, share=embedded / characters))

"""The protocol of embedding models, and the vectors that they make."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Shape (texts, dimensions); every row has length 1, so a dot product is a cosine."""


class Tokenizer(Protocol):
    """The part of an embedder that counts tokens."""

    @property
    def max_tokens(self) -> int:
        """Maximum length of a document text in tokens, not counting prompt and special tokens."""

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character span (start, end) of each token of `text`, in order, without special tokens."""


class Embedder(Tokenizer, Protocol):
    """Turns text into unit vectors; may embed documents and queries differently."""

    @property
    def fingerprint(self) -> str:
        """Identifies weights, backend and precision. Vectors with different fingerprints are never compared."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors: ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors: ...

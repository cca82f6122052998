"""The seams between the packages: what one may ask of another without importing it."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Shape (texts, dimensions); every row has length 1, so a dot product is a cosine."""


class Embedder(Protocol):
    """Turns text into unit vectors. Documents and queries may be embedded differently."""

    @property
    def fingerprint(self) -> str:
        """Names weights, backend and precision; vectors of two fingerprints are never compared."""

    @property
    def max_tokens(self) -> int:
        """Longest document text in tokens, prompt and special tokens already taken off."""

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character span (start, end) of each token of `text`, in order; special tokens left out."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors: ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors: ...

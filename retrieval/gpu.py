"""Embedding on a GPU, where there is one: by sentence-transformers itself, in the same precision."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kb.model.protocols import Vectors

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

LEAST_TEXTS = 256
"""Fewer are embedded before torch is loaded."""
BATCH_TEXTS = 256
DRIVERS = (Path("/dev/nvidiactl"), Path("/dev/kfd"))
"""Of NVIDIA and AMD; looked for first, since asking torch takes seconds."""


def load_on_gpu(folder: Path) -> "SentenceTransformer | None":
    """The model in `folder` on the GPU; None when there is none that torch can use."""
    if not any(driver.exists() for driver in DRIVERS):
        return None
    import torch

    if not torch.cuda.is_available():
        return None
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cuda", local_files_only=True)


def embed_on_gpu(model: "SentenceTransformer", texts: Sequence[str], prompt: str) -> Vectors:
    vectors = model.encode(
        list(texts), prompt=prompt or None, batch_size=BATCH_TEXTS, normalize_embeddings=True, show_progress_bar=False
    )
    return np.asarray(vectors, np.float32)

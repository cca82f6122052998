"""Embed on a GPU, if there is one, with sentence-transformers in float32."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kb.types.embedding import Vectors

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

LEAST_TEXTS = 256
"""Minimum number of texts to use the GPU for: fewer are embedded on the CPU before torch has even loaded."""
BATCH_TEXTS = 256
DRIVERS = (Path("/dev/nvidiactl"), Path("/dev/kfd"))
"""Device files of the NVIDIA and AMD drivers. They are checked first because importing torch takes seconds."""


def has_driver() -> bool:
    """Whether this machine has the driver of a GPU."""
    return any(driver.exists() for driver in DRIVERS)


def load_on_gpu(folder: Path) -> "SentenceTransformer | None":
    """Load the model in `folder` on the GPU; None if torch can use no GPU."""
    if not has_driver():
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

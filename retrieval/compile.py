"""Export a sentence-transformers model to ONNX, once per machine, so that a query does not need torch."""

import logging
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kb.errors import LocalModelError
from retrieval.embedder import OnnxEmbedder
from retrieval.embedding_model import EmbeddingModel, find_model

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

FILE = "model.onnx"
MIN_COSINE = 0.999
"""Minimum cosine with the vectors of sentence-transformers on the texts below; a model below it is refused."""

_PROBES = (
    "LDS size per compute unit",
    "v_mfma_f32_32x32x8_f16 reads its accumulators from 16 consecutive VGPRs",
    "| Model | LDS (KiB) | L2 (MiB) |\n|---|---|---|\n| MI300X | 64 | 4 per XCD |",
    "To avoid bank conflicts, pad the leading dimension of the tile. " * 12,
)


def load_embedder(name: str, *, cache: Path, on_compile: Callable[[str], None]) -> OnnxEmbedder:
    """The embedder for the model `name`. The first use on a machine compiles it and calls `on_compile` with its name.

    Raises:
        MissingModelError: the model is not on this machine.
        LocalModelError: the model has no safetensors weights, or not the published ones.
    """
    model = find_model(name)
    return OnnxEmbedder(model, lambda: compiled(model, cache, on_compile=on_compile))


def compiled(model: EmbeddingModel, cache: Path, *, on_compile: Callable[[str], None]) -> Path:
    """The ONNX file of `model` in `cache`, exported if it is not there yet.

    Raises:
        LocalModelError: the model cannot be exported, or the export gives other vectors than the model.
    """
    folder = cache / "models" / f"{model.digest[:32]}-float32"
    if not (folder / FILE).is_file():
        on_compile(model.name)
        folder.parent.mkdir(parents=True, exist_ok=True)
        staged = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".staged-"))
        try:
            _export(model, staged / FILE)
            try:
                staged.rename(folder)
            except OSError:
                if not (folder / FILE).is_file():  # otherwise another process finished first, with the same result
                    raise
        finally:
            shutil.rmtree(staged, ignore_errors=True)
    return folder / FILE


def _export(model: EmbeddingModel, path: Path) -> None:
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    class Pipeline(torch.nn.Module):
        """All modules of the model (encoder, pooling, normalisation, ...) as one function of two tensors."""

        def __init__(self, pipeline: SentenceTransformer) -> None:
            super().__init__()
            self.pipeline = pipeline

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            features = {"input_ids": input_ids, "attention_mask": attention_mask}
            embedding: torch.Tensor = self.pipeline(features)["sentence_embedding"]
            return embedding

    disable_progress_bar()  # type: ignore[no-untyped-call]
    pipeline = SentenceTransformer(str(model.folder), device="cpu", local_files_only=True)
    texts, length = torch.export.Dim("texts"), torch.export.Dim("length", max=model.max_seq_length)
    ids, mask = torch.arange(100, 116).reshape(2, 8), torch.ones((2, 8), dtype=torch.int64)
    mask[1, 5:] = 0  # without padding in the example, the exporter would drop the mask from the graph
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()):
            warnings.simplefilter("ignore")
            torch.onnx.export(
                Pipeline(pipeline).eval(),
                (ids, mask),
                path,
                dynamo=True,
                verbose=False,
                input_names=["input_ids", "attention_mask"],
                dynamic_shapes=({0: texts, 1: length}, {0: texts, 1: length}),
            )
    except (RuntimeError, torch.onnx.errors.OnnxExporterError) as error:
        raise LocalModelError(
            f"{model.name} cannot be compiled: {error}", hint="use another embedding model"
        ) from error
    _check(model, pipeline, path)


def _check(model: EmbeddingModel, pipeline: "SentenceTransformer", path: Path) -> None:
    ours = OnnxEmbedder(model, lambda: path).embed_documents(_PROBES)
    theirs = pipeline.encode_document(list(_PROBES), normalize_embeddings=True)
    worst = float(np.min(np.sum(ours * theirs, axis=1)))
    if worst < MIN_COSINE:
        raise LocalModelError(
            f"the compiled {model.name} drifts: cosine with the original is only {worst:.4f}",
            hint="use another embedding model",
        )

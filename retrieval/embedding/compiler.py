"""Compile a sentence-transformers model to ONNX, once per machine, so that a query does not need torch."""

import logging
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kb.errors import LocalModelError, MissingLibraryError, MissingModelError, is_installed
from kb.types.embedding import Vectors
from retrieval.embedding.embedder import OnnxEmbedder, load_tokenizer
from retrieval.embedding.model import EmbeddingModel, find_model
from retrieval.embedding.precision import Precision, fastest
from retrieval.embedding.quantise import quantise

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

FILE = "model.onnx"
RUNTIME = ("tokenizers", "onnxruntime")
"""Libraries that each use of a model needs; they are loaded when it is first used."""
FORMAT = 2
"""Raise this when the export or the quantisation changes."""
MIN_COSINE = {Precision.FLOAT32: 0.999, Precision.INT8: 0.99}
"""Minimum cosine with the vectors of sentence-transformers on the texts below. In int8 the default model has 0.997 and
answers as many questions as in float32 (benchmarks/results/precision.json). A model below the minimum stays in float32.
"""
CALIBRATION_TEXTS = 48
"""Number of random texts, of all lengths up to the model's, that set the scales for int8. Words of any kind give wider
ranges than sentences do, and better vectors."""

_PROBES = (
    "LDS size per compute unit",
    "v_mfma_f32_32x32x8_f16 reads its accumulators from 16 consecutive VGPRs",
    "| Model | LDS (KiB) | L2 (MiB) |\n|---|---|---|\n| MI300X | 64 | 4 per XCD |",
    "To avoid bank conflicts, pad the leading dimension of the tile. " * 12,
)


def load_embedder(
    name: str, *, cache: Path, notify: Callable[[str], None], stored: Callable[[str], bool] = lambda fingerprint: False
) -> OnnxEmbedder:
    """The embedder for the model `name`. The first use on a machine compiles it and tells the user.

    Args:
        stored: Whether vectors with a fingerprint are stored. A home keeps the precision of its vectors, on every
            machine; without vectors it gets the precision that is fastest here.

    Raises:
        MissingModelError: the model is not on this machine, or a library that runs it is not installed.
        LocalModelError: the model has no safetensors weights, or not the published ones.
    """
    if absent := [library for library in RUNTIME if not is_installed(library)]:
        missing = MissingLibraryError(absent[0])
        raise MissingModelError(f"{name} cannot run: {missing.message}", hint=missing.hint)
    model = find_model(name)
    compiler = Compiler(model, cache, notify)
    precision = next((p for p in Precision if stored(model.fingerprint(p))), None) or compiler.fastest()
    return OnnxEmbedder(model, precision, lambda: compiler.compiled(precision))


@dataclass(frozen=True, slots=True)
class Compiler:
    model: EmbeddingModel
    cache: Path
    notify: Callable[[str], None]

    def fastest(self) -> Precision:
        """The fastest precision here in which the model's vectors keep their directions."""
        if fastest() is Precision.INT8 and self.compiled(Precision.INT8).is_file():
            return Precision.INT8
        return Precision.FLOAT32

    def compiled(self, precision: Precision) -> Path:
        """The ONNX file of the model in this precision, compiled if that was not done yet.

        There is none in int8 if its vectors would differ too much from the model's.

        Raises:
            LocalModelError: the model cannot be exported, or the export gives other vectors than the model.
        """
        folder = self.cache / "models" / f"{self.model.digest[:32]}-{FORMAT}-{precision}"
        if not folder.is_dir():
            self.notify(f"compiling the embedding model {self.model.name} in {precision} (once on this machine)")
            folder.parent.mkdir(parents=True, exist_ok=True)
            staged = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".staged-"))
            try:
                if precision is Precision.INT8:
                    self._quantise(staged / FILE)
                else:
                    _export(self.model, staged / FILE)
                try:
                    staged.rename(folder)
                except OSError:
                    if not folder.is_dir():  # otherwise another process finished first, with the same result
                        raise
            finally:
                shutil.rmtree(staged, ignore_errors=True)
        return folder / FILE

    def _quantise(self, path: Path) -> None:
        """Write the model in int8; nothing if its vectors differ too much."""
        exact = self.compiled(Precision.FLOAT32)
        quantise(exact, path, _random_texts(self.model))
        wanted = OnnxEmbedder(self.model, Precision.FLOAT32, lambda: exact).embed_documents(_PROBES)
        cosine = _least_cosine(OnnxEmbedder(self.model, Precision.INT8, lambda: path), wanted)
        if cosine < MIN_COSINE[Precision.INT8]:
            path.unlink()
            self.notify(
                f"{self.model.name} embeds in float32, which is slower: in int8 its vectors would differ too much "
                f"(cosine {cosine:.3f}, needed {MIN_COSINE[Precision.INT8]})"
            )


def _random_texts(model: EmbeddingModel) -> list[list[int]]:
    """Token ids of texts of random tokens, the same on each machine."""
    tokenizer = load_tokenizer(model)
    random = np.random.default_rng(0)
    lengths = np.linspace(1, model.max_seq_length, CALIBRATION_TEXTS, dtype=int)
    drawn = (random.integers(tokenizer.get_vocab_size(), size=length).tolist() for length in lengths)
    return [tokenizer.encode(tokenizer.decode(ids)).ids[: model.max_seq_length] for ids in drawn]


def _export(model: EmbeddingModel, path: Path) -> None:
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    class Pipeline(torch.nn.Module):
        """All modules of the model (encoder, pooling, normalisation, ...) as one function of one text's tokens."""

        def __init__(self, pipeline: SentenceTransformer) -> None:
            super().__init__()
            self.pipeline = pipeline

        def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
            encoder, *others = self.pipeline
            features = {"input_ids": input_ids, "attention_mask": torch.ones_like(input_ids)}
            features = encoder(features, attention_mask=None)  # nothing is masked, and masking takes time
            for module in others:
                features = module(features)
            embedding: torch.Tensor = features["sentence_embedding"]
            return embedding

    disable_progress_bar()  # type: ignore[no-untyped-call]
    pipeline = SentenceTransformer(str(model.folder), device="cpu", local_files_only=True)
    length = torch.export.Dim("length", max=model.max_seq_length)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()):
            warnings.simplefilter("ignore")
            torch.onnx.export(
                Pipeline(pipeline).eval(),
                (torch.arange(100, 116).reshape(1, 16),),
                path,
                dynamo=True,
                verbose=False,
                opset_version=23,  # the first with an operator for attention
                input_names=["input_ids"],
                dynamic_shapes=({1: length},),
            )
    except (RuntimeError, torch.onnx.errors.OnnxExporterError) as error:
        raise LocalModelError(
            f"{model.name} cannot be compiled: {error}", hint="use another embedding model"
        ) from error
    _check(model, pipeline, path)


def _check(model: EmbeddingModel, pipeline: "SentenceTransformer", path: Path) -> None:
    theirs = pipeline.encode_document(list(_PROBES), normalize_embeddings=True)
    cosine = _least_cosine(OnnxEmbedder(model, Precision.FLOAT32, lambda: path), theirs)
    if cosine < MIN_COSINE[Precision.FLOAT32]:
        raise LocalModelError(
            f"the compiled {model.name} drifts: cosine with the original is only {cosine:.4f}",
            hint="use another embedding model",
        )


def _least_cosine(embedder: OnnxEmbedder, wanted: Vectors) -> float:
    """The least cosine of the vectors of the probes with `wanted`."""
    return float(np.min(np.sum(embedder.embed_documents(_PROBES) * wanted, axis=1)))

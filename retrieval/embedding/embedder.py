"""Turn text into unit vectors: with tokenizers and ONNX Runtime on a compiled model, or on a GPU."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kb.errors import LocalModelError
from kb.types.embedding import Vectors
from retrieval.embedding.gpu import LEAST_TEXTS, embed_on_gpu, load_on_gpu
from retrieval.embedding.model import EmbeddingModel
from retrieval.embedding.precision import Precision, is_fast_at_int8

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer


class OnnxEmbedder:
    """An `Embedder`. Files are opened when first needed; `onnx` returns the path of the compiled model.

    Each text is embedded alone, on one core: no text is padded, and a vector does not depend on the texts beside it.
    """

    def __init__(self, model: EmbeddingModel, precision: Precision, onnx: Callable[[], Path]) -> None:
        self._model = model
        self._precision = precision
        self._onnx = onnx

    @property
    def fingerprint(self) -> str:
        return self._model.fingerprint(self._precision)

    @cached_property
    def max_tokens(self) -> int:
        overhead = len(self._tokenizer.encode(self._model.prompt("document")).ids)
        return self._model.max_seq_length - overhead

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).offsets)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Raises LocalModelError if a text is longer than the model accepts: no text is cut silently."""
        return self._embed(texts, prompt=self._model.prompt("document"), cut=False)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed queries; one longer than the model accepts is cut at its end."""
        return self._embed(texts, prompt=self._model.prompt("query"), cut=True)

    def _embed(self, texts: Sequence[str], *, prompt: str, cut: bool) -> Vectors:
        ids = [encoding.ids for encoding in self._tokenizer.encode_batch([prompt + text for text in texts])]
        limit = self._model.max_seq_length
        if too_long := [i for i, tokens in enumerate(ids) if len(tokens) > limit]:
            if not cut:
                raise LocalModelError(
                    f"a text of {len(ids[too_long[0]])} tokens is longer than {self._model.name} accepts ({limit})",
                    hint="this is a fault in kb's chunking; please report it with the document",
                )
            ids = [[*tokens[: limit - 1], tokens[-1]] if len(tokens) > limit else tokens for tokens in ids]
        if self._precision is Precision.FLOAT32 and len(texts) >= LEAST_TEXTS and self._on_gpu is not None:
            return embed_on_gpu(self._on_gpu, texts, prompt)
        session = self._session
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            rows = list(threads.map(lambda own: session.run(None, {"input_ids": np.array([own])})[0], ids))
        vectors = np.concatenate(rows).astype(np.float32) if rows else np.zeros((0, 0), np.float32)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)

    @cached_property
    def _on_gpu(self) -> "SentenceTransformer | None":
        return load_on_gpu(self._model.folder)

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        return load_tokenizer(self._model)

    @cached_property
    def _session(self) -> "InferenceSession":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = 1
        if self._precision is Precision.INT8 and not is_fast_at_int8():
            # Products of bytes could overflow: compute with the same rounded numbers in float32.
            options.add_session_config_entry("session.disable_quant_qdq", "1")
        return onnxruntime.InferenceSession(
            str(self._onnx()),
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=["SkipLayerNormFusion"],  # the fused kernel takes longer than its two parts
        )


def load_tokenizer(model: EmbeddingModel) -> "Tokenizer":
    """The tokenizer of a model; it cuts no text and pads none."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model.folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer

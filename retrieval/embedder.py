"""Turn text into unit vectors: with tokenizers and ONNX Runtime on a compiled model, or on a GPU."""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kb.errors import LocalModelError
from kb.model.embedding import Vectors
from retrieval.embedding_model import EmbeddingModel
from retrieval.gpu import LEAST_TEXTS, embed_on_gpu, load_on_gpu

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer

BATCH_TEXTS = 16
PRECISION = "float32"
"""In this precision ONNX Runtime on a CPU and sentence-transformers on a GPU agree to at least `MIN_COSINE`."""


class OnnxEmbedder:
    """An `Embedder`. Files are opened when first needed; `onnx` returns the path of the compiled model."""

    def __init__(self, model: EmbeddingModel, onnx: Callable[[], Path]) -> None:
        self._model = model
        self._onnx = onnx

    @property
    def fingerprint(self) -> str:
        return f"{Path(self._model.name).name}@{self._model.digest[:16]}/{PRECISION}"

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
        if len(texts) >= LEAST_TEXTS and self._on_gpu is not None:
            return embed_on_gpu(self._on_gpu, texts, prompt)
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        batches = [order[i : i + BATCH_TEXTS] for i in range(0, len(order), BATCH_TEXTS)]
        rows = [self._run([ids[i] for i in batch]) for batch in batches]
        vectors = np.concatenate(rows) if rows else np.zeros((0, 0), np.float32)
        result = np.empty_like(vectors)
        result[order] = vectors
        return result

    def _run(self, ids: Sequence[Sequence[int]]) -> Vectors:
        """Embed one batch, padded to its longest text."""
        tokens = np.zeros((len(ids), max(map(len, ids))), np.int64)
        mask = np.zeros_like(tokens)
        for row, own in enumerate(ids):
            tokens[row, : len(own)] = own
            mask[row, : len(own)] = 1
        vectors = np.asarray(self._session.run(None, {"input_ids": tokens, "attention_mask": mask})[0], np.float32)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)

    @cached_property
    def _on_gpu(self) -> "SentenceTransformer | None":
        return load_on_gpu(self._model.folder)

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._model.folder / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _session(self) -> "InferenceSession":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        return onnxruntime.InferenceSession(str(self._onnx()), options, providers=["CPUExecutionProvider"])

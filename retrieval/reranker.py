"""Rerank the first hits with a cross-encoder, which reads question and passage together: better order, more time."""

import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kb.errors import LocalModelError, MissingModelError
from kb.types.passages import Hit
from retrieval.embedding.model import downloaded

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

RERANKED_HITS = 20
"""Number of leading hits that are reranked; the others keep their order."""
BATCH_PAIRS = 4
"""Pairs scored between two checks of the time limit."""


class Reranker:
    """A sentence-transformers cross-encoder on this machine, loaded on first use.

    Args:
        name: Name of a downloaded model, or its folder.
        seconds: Time limit for one question, not counting the loading of the model.

    Raises:
        MissingModelError: the model is not on this machine.
    """

    def __init__(self, name: str, *, seconds: float) -> None:
        path = Path(name).expanduser()
        found = path if (path / "config.json").is_file() else downloaded(name)
        if found is None:
            raise MissingModelError(
                f"the cross-encoder {name!r} is not on this machine",
                hint="`hf download` fetches it once; KB_RERANKER_MODEL=none switches reranking off",
            )
        self._folder = found
        self._seconds = seconds

    def order(self, question: str, hits: Sequence[Hit]) -> list[Hit] | None:
        """The hits with the first ones in the model's order, ties in their old order; None if the time ran out.

        Raises:
            LocalModelError: the model cannot be loaded.
        """
        first, model = hits[:RERANKED_HITS], self._model
        scores: list[float] = []
        end = time.monotonic() + self._seconds
        for start in range(0, len(first), BATCH_PAIRS):
            if time.monotonic() > end:
                return None
            pairs = [(question, hit.passage.shown) for hit in first[start : start + BATCH_PAIRS]]
            scores += model.predict(pairs, batch_size=BATCH_PAIRS, show_progress_bar=False).tolist()
        best_first = sorted(range(len(first)), key=lambda i: -scores[i])
        return [*(first[i] for i in best_first), *hits[RERANKED_HITS:]]

    @cached_property
    def _model(self) -> "CrossEncoder":
        from sentence_transformers import CrossEncoder

        try:
            model: CrossEncoder = CrossEncoder(
                str(self._folder), local_files_only=True, model_kwargs={"use_safetensors": True}
            )
        except (OSError, ValueError, KeyError) as error:
            raise LocalModelError(
                f"the cross-encoder in {self._folder} cannot be loaded: {error}",
                hint="use a model with safetensors weights, or KB_RERANKER_MODEL=none",
            ) from error
        return model

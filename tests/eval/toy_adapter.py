"""The adapter of the toy language in test_seams: a candidate is a line of words, applied to a tensor in order."""

from pathlib import Path

import torch  # noqa: TID253 - a worker that calls it needs torch

from eval.worker.adapters.python import PythonCandidate
from eval.worker.channel import Message
from eval.worker.fault import Fault

WORDS = {"double": lambda x: x * 2, "negate": torch.neg, "sum": lambda x: x.sum(dim=-1)}


class ToyCandidate(PythonCandidate):
    def __init__(self, folder: Path, memory: int, question: Message) -> None:
        self._memory = memory
        self._words = (folder / "candidate.toy").read_text(encoding="utf-8").split()
        if unknown := set(self._words) - WORDS.keys():
            raise Fault("compile_error", f"no such word: {', '.join(sorted(unknown))}")

    def _model(self, x: torch.Tensor) -> torch.Tensor:
        for word in self._words:
            x = WORDS[word](x)
        return x


load = ToyCandidate

"""As fake_gpu, but calls can be recorded: a replay calls again and copies to the outputs of the recording."""

from pathlib import Path
from typing import Any

from eval.worker.adapters.gpu import Recording
from eval.worker.channel import Message
from tests.eval.fake_gpu import FakeGpuCandidate, warm

__all__ = ["load", "warm"]


class FakeGraph:
    def __init__(self, model: "RecordingGpuCandidate", number: int, outputs: tuple[Any, ...]) -> None:
        self._model, self._number, self._outputs = model, number, outputs

    def replay(self) -> None:
        for kept, new in zip(self._outputs, self._model._called(self._number), strict=True):
            kept.copy_(new)


class RecordingGpuCandidate(FakeGpuCandidate):
    def __init__(self, folder: Path, memory: int, question: Message) -> None:
        super().__init__(folder, memory, question)

    def _recorded(self, number: int) -> Recording:
        outputs = self._called(number)
        return Recording(FakeGraph(self, number, outputs), outputs, self._places(outputs))


load = RecordingGpuCandidate

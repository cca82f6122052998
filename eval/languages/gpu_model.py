"""The worker's adapter for candidates in Python on a GPU, timed by its events."""

from pathlib import Path
from typing import Any

from eval.fault import Fault
from eval.languages.python_model import PythonModel
from eval.worker.channel import Message
from eval.worker.device_mapping import DeviceMapping
from eval.worker.gpu_driver import Driver, installed_driver


class GpuModel(PythonModel):
    """A candidate whose tensors are on the GPU. See `eval.worker.worker.Model`."""

    def __init__(self, folder: Path, memory: int, question: Message, driver: Driver | None = None) -> None:
        import torch

        self._driver = driver or installed_driver()
        self._device = self._driver.device
        self._mapping = DeviceMapping(self._driver)
        self._graphs: dict[int, tuple[Any, tuple[Any, ...]]] = {}
        """For each captured input set its graph, and the outputs that each replay writes."""
        with torch.device(self._device):
            super().__init__(folder, memory, question)

    def map_inputs(self, sets: list[list[Message]]) -> None:
        self.capture(on=False)
        super().map_inputs(sets)

    def call(self, number: int) -> float:
        try:
            return self._timed_call(number)
        except RuntimeError as error:
            if not self._still_works():
                raise Fault("crashed", str(error).partition("\n")[0]) from error
            raise

    def capture(self, *, on: bool) -> bool:
        """Record the calls on all input sets as graphs, which are replayed from then on, or drop these graphs.

        Raises:
            RuntimeError: they cannot be recorded, because the candidate looks at values; this model is lost.
        """
        self._graphs = {}
        if on:
            self._graphs = {number: self._captured(number) for number in range(len(self._inputs))}
        return on

    def _mapped(self, specs: list[Message]) -> list[Any]:
        return self._mapping.mapped(specs)

    def _described(self, output: Any) -> Message:
        described = super()._described(output)
        return {**described, **self._mapping.place_of(output)} if "stride" in described else described

    def _timed_call(self, number: int) -> float:
        import torch

        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        start.record()
        self._run(number)
        end.record()
        self._driver.synchronize()
        return float(start.elapsed_time(end)) / 1e3

    def _run(self, number: int) -> None:
        if number in self._graphs:
            graph, self._outputs = self._graphs[number]
            graph.replay()
        else:
            self._outputs = self._called(number)

    def _captured(self, number: int) -> tuple[Any, tuple[Any, ...]]:
        import torch

        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            outputs = self._called(number)
        return graph, outputs

    def _still_works(self) -> bool:
        """Whether the GPU still works in this process; after some errors nothing does."""
        import torch

        try:
            torch.zeros(1, device=self._device)
            self._driver.synchronize()
        except RuntimeError:
            return False
        return True


load = GpuModel

"""The worker's adapter for candidates in Python on a GPU, timed by its events."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from eval.worker.adapters.python import PythonCandidate
from eval.worker.channel import ALL, Message
from eval.worker.device_mapping import DeviceMapping
from eval.worker.fault import Fault
from eval.worker.gpu_driver import Driver, installed_driver


class Recording(NamedTuple):
    """A call that was recorded."""

    graph: Any
    outputs: tuple[Any, ...]
    """What each replay writes."""
    places: Sequence[str]


class EventClock:
    """Times calls by the GPU's events. It looks its functions up once, before the code of a candidate runs.

    What it does beside the call is little, because a candidate that answers in its place could work in that time.
    """

    def __init__(self) -> None:
        import torch

        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        stream = torch.cuda.current_stream()
        self.use_stream = partial(torch.cuda.set_stream, stream)
        """Makes the stream that it times the current one, whatever a candidate has made of that."""
        self._start, self._end = partial(start.record, stream), partial(end.record, stream)
        self._wait, self._elapsed_ms = end.synchronize, partial(start.elapsed_time, end)
        self._wait_everywhere = torch.cuda.synchronize

    def time(self, run: Callable[[], None], *, everywhere: bool) -> float:
        """Seconds until the work of `run` is done: that on the stream, or that on all streams."""
        self._start()
        run()
        if everywhere:
            self._wait_everywhere()
        self._end()
        self._wait()
        return float(self._elapsed_ms()) / 1e3


class GpuCandidate(PythonCandidate):
    """A candidate whose tensors are on the GPU. See `eval.worker.worker.BuiltCandidate`."""

    def __init__(self, folder: Path, memory: int, question: Message, driver: Driver | None = None) -> None:
        import torch

        self._driver = driver or installed_driver()
        self._device = self._driver.device
        self._mapping = DeviceMapping(self._driver)
        self._clock = self._new_clock()
        self._use_stream = self._clock.use_stream
        self._recordings: dict[int, Recording] = {}
        self._replayed: Sequence[Recording] = ()
        with torch.device(self._device):
            super().__init__(folder, memory, question)
        self._driver.synchronize()  # it still copies parameters, which the judge overwrites with inputs

    def map_inputs(self, sets: list[list[Message]]) -> None:
        self.capture(on=False)
        super().map_inputs(sets)

    def ready(self, number: int) -> None:
        self._use_stream()
        self._replayed = [recording for each, recording in self._recordings.items() if number in (each, ALL)]

    def call(self, number: int) -> float:
        run = self._replay if self._replayed else partial(self._run, number)
        try:
            return self._clock.time(run, everywhere=not self._replayed)
        except RuntimeError as error:
            if not self._still_works():
                raise Fault("crashed", str(error).partition("\n")[0]) from error
            raise

    def capture(self, *, on: bool) -> bool:
        """Record the calls on all input sets as graphs, which are replayed from then on, or drop these graphs.

        Raises:
            RuntimeError: they cannot be recorded, because the candidate looks at values; it is lost.
        """
        self._recordings, self._replayed = {}, ()
        if on:
            for number in range(len(self._inputs)):
                self._recordings[number] = self._recorded(number)
        return on

    def places(self) -> Sequence[str]:
        if self._replayed:
            return [place for recording in self._replayed for place in recording.places]
        return self._places(self._outputs)

    def layouts(self) -> list[Message]:
        outputs = self._replayed[0].outputs if self._replayed else self._outputs
        return [self._layout(output) for output in outputs]

    def _new_clock(self) -> EventClock:
        return EventClock()

    def _mapped(self, specs: list[Message]) -> list[Any]:
        return self._mapping.mapped(specs)

    def _places(self, outputs: Sequence[Any]) -> Sequence[str]:
        return [self._mapping.place_of(x) if "stride" in self._layout(x) else "0" for x in outputs]

    def _replay(self) -> None:
        for recording in self._replayed:
            recording.graph.replay()

    def _recorded(self, number: int) -> Recording:
        """A recording. What is no output shares memory with earlier ones, because they are replayed in turn."""
        import torch

        graph = torch.cuda.CUDAGraph()
        shared = next((each.graph.pool() for each in self._recordings.values()), None)
        with torch.cuda.graph(graph, pool=shared):
            outputs = self._called(number)
        return Recording(graph, outputs, self._places(outputs))

    def _still_works(self) -> bool:
        """Whether the GPU still works in this process; after some errors nothing does."""
        import torch

        try:
            torch.zeros(1, device=self._device)
            self._driver.synchronize()
        except RuntimeError:
            return False
        return True


load = GpuCandidate


def warm() -> None:
    """Load torch and Triton, and start the driver."""
    installed_driver()
    with suppress(ImportError):
        import triton  # noqa: F401

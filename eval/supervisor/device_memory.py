"""Transfer tensors between judge and worker on a GPU, by handles that one process makes and the other opens.

Inputs are in memory of the judge that the worker opens; outputs are where the candidate has put them, and the judge
opens that memory. References and expected values stay in allocations of the judge that no handle was made for.
"""

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch

from eval.supervisor.memory import FILLERS, HostMemory, RemoteTensor, SharedTensors, fill_with_garbage, valid_dtype
from eval.supervisor.process import WorkerProcess
from eval.worker.channel import Message
from eval.worker.fault import Fault
from eval.worker.gpu_driver import Driver, installed_driver
from eval.worker.mapping import view
from kb.types.evidence import Outcome

FLUSHED = 3
"""Size of the memory that is changed to empty the L2, as a multiple of its size."""
MOST_CACHED = 1 / 16
"""Share of the GPU's memory that torch may keep in the judge."""
TRIES, BUSY = 5, 20.0
"""A GPU works for another process if the fastest of some waits takes this many times as long as on an idle one."""


class Unrest(Fault):
    """The GPU worked while a worker stood still. Others may have used it: it counts if a fresh process shows it too."""


class Block(NamedTuple):
    """An allocation for inputs, which a worker opens."""

    start: int
    size: int
    handle: str


class DeviceMemory(HostMemory):
    """Transfers tensors in the memory of the GPU that torch uses."""

    slots = 16
    page_bytes = 1
    withholds = True
    """A worker can have its GPU wait for a value in memory. Its kernels then start when the judge writes that value,
    although the worker is stopped."""

    def __init__(self, driver: Driver | None = None, slot_bytes: int = HostMemory.slot_bytes) -> None:
        self.slot_bytes = slot_bytes
        self._driver = driver or installed_driver()
        self._blocks: WeakKeyDictionary[WorkerProcess, list[Block]] = WeakKeyDictionary()
        self.l2_bytes, self.total_bytes = self._driver.l2_bytes(), self._driver.total_bytes()
        self._flushed = torch.zeros(FLUSHED * self.l2_bytes // 4, dtype=torch.int32, device=self._driver.device)
        self._idle_s = median(self._wait_s() for _ in range(4 * TRIES))

    def share(
        self, worker: WorkerProcess, sets: Sequence[Sequence[Any]], start: int = 0, *, strided: bool = False
    ) -> SharedTensors:
        torch.cuda.empty_cache()  # the worker may need what torch keeps for later tensors of this process

        def map_tensors(specs: list[Message], size: int) -> list[torch.Tensor]:
            block = self._block(worker, size)
            page = self._driver.bytes_at(block.start, block.size)
            for spec in specs:
                spec["handle"] = block.handle
            return [view(page, spec) for spec in specs]

        shared = SharedTensors(sets, map_tensors, start, strided=strided)
        self._driver.synchronize()
        return shared

    def spoil_gaps(self, worker: WorkerProcess, shared: SharedTensors) -> None:
        block = self._block(worker, 0)
        page, byte = self._driver.bytes_at(block.start, block.size), secrets.choice(FILLERS)
        for start, end in shared.gaps:
            page[start:end] = byte
        self._driver.synchronize()

    def read(self, worker: WorkerProcess, tensor: RemoteTensor) -> torch.Tensor:
        """A copy of an output.

        Raises:
            ValueError: the layout is invalid, or its handle or its place in the memory of the handle is.
        """
        with self._opened(tensor) as flat:
            return flat.clone().as_strided(tensor.shape, tensor.stride)

    def overwrite(self, worker: WorkerProcess, tensor: RemoteTensor) -> None:
        with self._opened(tensor) as flat:
            fill_with_garbage(flat, tensor)

    def lies_in_inputs(self, worker: WorkerProcess, tensor: RemoteTensor) -> bool:
        return any(tensor.handle == block.handle for block in self._blocks.get(worker, ()))

    def before_call(self, last: Sequence[Callable[[], None]]) -> None:
        """Empty the L2, also of what a worker wants to keep there, and do what comes last.

        The worker gets the memory that torch keeps for later tensors of this process, if that is much.
        """
        if torch.cuda.memory_reserved() - torch.cuda.memory_allocated() > MOST_CACHED * self.total_bytes:
            torch.cuda.empty_cache()
        self._flushed.add_(1)
        self._driver.synchronize()
        for write in last:
            write()
        self._driver.synchronize()

    def after_call(self) -> None:
        """Wait until the GPU works for this process again: kernels that outlive a reply delay it."""
        self._wait_s()

    def check_rest(self, worker: WorkerProcess) -> None:
        """Raises Unrest if kernels of a stopped worker run more than rarely: an H100 is busy now and then by itself."""
        seen = min(self._wait_s() for _ in range(TRIES)) > BUSY * self._idle_s
        if worker.gpu_activity.exceeded(seen=seen):
            raise Unrest(Outcome.FORBIDDEN, "its kernels ran on the GPU while it should have stood still")

    def copy_s(self, moved_bytes: int) -> float:
        """Least seconds in which the GPU copies until so many bytes are read or written, beyond a tiny kernel's."""
        source = torch.zeros(moved_bytes // 2, dtype=torch.uint8, device=self._driver.device)
        target = torch.empty_like(source)
        idle_s = min(self._wait_s() for _ in range(4 * TRIES))
        return max(0.0, min(self._wait_s(lambda: target.copy_(source)) for _ in range(4 * TRIES)) - idle_s)

    def _wait_s(self, work: Callable[[], object] = lambda: None) -> float:
        """Seconds to run a tiny kernel after `work`. GPUs run the kernels of one process at a time, and others wait."""
        start = time.perf_counter()
        work()
        self._flushed[:1].add_(1)
        self._driver.synchronize()
        return time.perf_counter() - start

    def _block(self, worker: WorkerProcess, size: int) -> Block:
        blocks = self._blocks.setdefault(worker, [])
        if not blocks or blocks[-1].size < size:
            start = self._driver.allocate(size)
            worker.at_end.callback(self._driver.free, start)
            blocks.append(Block(start, self._driver.range_of(start)[1], self._driver.export(start).handle))
        return blocks[-1]

    @contextmanager
    def _opened(self, tensor: RemoteTensor) -> Iterator[torch.Tensor]:
        """The elements of a worker's tensor, from the first to the last, in its own memory."""
        dtype = valid_dtype(tensor)
        if not tensor.span:
            yield torch.empty(0, dtype=dtype, device=self._driver.device)
            return
        start = self._driver.open(tensor.handle)
        try:
            size, room = tensor.span * dtype.itemsize, self._driver.range_of(start)[1]
            if tensor.pointer + size > room or (start + tensor.pointer) % dtype.itemsize:
                raise ValueError(f"no {tensor.dtype} of {size} bytes can be at {tensor.pointer} of {room}")
            yield self._driver.bytes_at(start + tensor.pointer, size).view(dtype)
            self._driver.synchronize()
        finally:
            self._driver.close(start)

"""Transfer tensors between judge and worker: inputs in shared memory, outputs read from the worker's memory.

The worker copies nothing and only reports the addresses of its outputs. So the judge reads what was there when the
answer came, and reading takes none of the candidate's time. Linux only (process_vm_readv, process_vm_writev).
"""

import ctypes
import errno
import math
import mmap
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import Field

from eval.oracle.blocks import same_bits
from eval.oracle.reference import stored_once
from eval.supervisor.process import WorkerProcess
from eval.worker.channel import Message
from eval.worker.dtypes import ITEM_BYTES
from eval.worker.mapping import end_of, flat_spec, mapped, size_bytes, spec_of, with_guard
from kb.errors import JudgeError
from kb.types.base import Frozen

ALIGNMENT = 64
"""Alignment in bytes, the same as that of torch's CPU tensors."""
MOST_STRETCH, ANY_STRETCH = 4, 1 << 28
"""Maximum ratio of the span of a strided output to its size, and the span up to which any ratio is allowed: an output
may be the last column of a larger result."""
MOST_DIMENSIONS = 64
"""Of a tensor, as in torch."""
WITHHELD = 16
"""One in so many elements of an input comes last."""
GARBAGE = 0xFF
"""Byte that overwrites floating-point outputs, in all types of which it is NaN, and truth values, which are 0 or 1."""
FILLERS = (0x7F, 0xFE, GARBAGE)
"""Bytes that fill the memory around inputs: numbers of any type are large, or negative and large, or NaN."""

Length = Annotated[int, Field(ge=0, lt=1 << 48)]
"""A number of elements; processors address no more bytes than this."""


class Layout(Frozen):
    """The layout of a tensor in a worker's memory, as the worker describes it."""

    dtype: str
    """Name as in torch, without the prefix; another description if it is not a plain tensor."""
    shape: Annotated[tuple[Length, ...], Field(max_length=MOST_DIMENSIONS)] = ()
    stride: Annotated[tuple[Length, ...], Field(max_length=MOST_DIMENSIONS)] = ()
    """Strides in elements."""

    @property
    def span(self) -> int:
        """Number of elements from the first to the last, inclusive."""
        if 0 in self.shape:
            return 0
        return 1 + sum((n - 1) * step for n, step in zip(self.shape, self.stride, strict=True))


class RemoteTensor(Layout):
    """A tensor in a worker's memory."""

    pointer: Annotated[int, Field(ge=0, lt=1 << 63)]
    """Its address, or if it has a handle, its offset in bytes from the start of the memory of that handle."""
    handle: Annotated[str, Field(pattern=r"^([0-9a-f]{128})?$")] = ""
    """A GPU's handle of the allocation in which it lies, in hexadecimal."""


def share_memory(one: RemoteTensor, other: RemoteTensor) -> bool:
    """Whether elements of two tensors of a worker share bytes; they may lie in turns, as columns of a matrix do."""
    (start, end), (first, last) = ((x.pointer, x.pointer + x.span * ITEM_BYTES[x.dtype]) for x in (one, other))
    if one.handle != other.handle or end <= first or last <= start:
        return False
    taken = [torch.zeros(max(end, last) - min(start, first), dtype=torch.bool) for _ in range(2)]
    for bytes_of, tensor in zip(taken, (one, other), strict=True):
        item = ITEM_BYTES[tensor.dtype]
        shape, stride = (*tensor.shape, item), (*(step * item for step in tensor.stride), 1)
        bytes_of.as_strided(shape, stride, tensor.pointer - min(start, first)).fill_(True)  # noqa: FBT003
    return bool((taken[0] & taken[1]).any())


MapTensors = Callable[[list[Message], int], Sequence[torch.Tensor]]
"""Gives the tensors of specs in memory of at least some bytes, and adds to the specs how a worker finds that memory."""


class SharedTensors:
    """Sets of arguments in memory shared by judge and worker. Arguments that are not tensors are sent by value.

    Earlier contents of the memory are overwritten.

    Args:
        sets: For each call its arguments; shapes and types are the same in all sets.
        map_tensors: Gives the tensors in that memory.
        start: Bytes at its beginning that stay as they are.
        strided: Whether tensors keep their strides; otherwise they are contiguous there.
    """

    def __init__(
        self, sets: Sequence[Sequence[Any]], map_tensors: MapTensors, start: int = 0, *, strided: bool = False
    ) -> None:
        self.specs, end = specs_of(sets, start, strided=strided)
        pages = iter(map_tensors([spec for specs in self.specs for spec in specs if "value" not in spec], end))
        self.sets = [[next(pages) if isinstance(v, torch.Tensor) else v for v in arguments] for arguments in sets]
        for number, arguments in enumerate(sets):
            self.write(number, arguments)

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """From where to where no tensor lies, up to the end of the last page in which one does."""
        specs = [spec for specs in self.specs for spec in specs if "offset" in spec]
        return list(gaps(specs, -(-end_of(specs) // mmap.PAGESIZE) * mmap.PAGESIZE))

    def write(self, number: int, arguments: Sequence[Any]) -> None:
        """Replace the values of one set."""
        for page, value in zip(self.sets[number], arguments, strict=True):
            if isinstance(page, torch.Tensor):
                place, values = _in_memory_order(page, value)
                place.copy_(values)

    def withhold(self, number: int, arguments: Sequence[Any]) -> Callable[[], None]:
        """Replace the values of one set, but for a random part of each tensor, which gets those of another part.

        Returns:
            What writes the rest.
        """
        late: list[tuple[torch.Tensor, torch.Tensor]] = []
        for page, value in zip(self.sets[number], arguments, strict=True):
            if isinstance(page, torch.Tensor) and page.numel():
                place, values = _in_memory_order(page, value)
                size = -(-len(place) // WITHHELD)
                start, other = (secrets.randbelow(len(place) - size + 1) for _ in range(2))
                place[:start].copy_(values[:start])
                place[start + size :].copy_(values[start + size :])
                place[start : start + size].copy_(values[other : other + size])
                late.append((place[start : start + size], values[start : start + size]))

        def write_rest() -> None:
            for place, values in late:
                place.copy_(values)

        return write_rest

    def unchanged(self, number: int, arguments: Sequence[Any]) -> bool:
        """Whether a set still has these values, bit for bit."""
        pairs = zip(self.sets[number], arguments, strict=True)
        return all(same_bits(page, value) for page, value in pairs if isinstance(page, torch.Tensor))


def specs_of(
    sets: Sequence[Sequence[Any]], start: int = 0, *, strided: bool = False
) -> tuple[list[list[Message]], int]:
    """Where the arguments of each set lie in memory whose first bytes stay as they are, and where the last one ends."""
    specs, end = [[spec_of(value, strided=strided) for value in arguments] for arguments in sets], start
    for arguments, found in zip(sets, specs, strict=True):
        for value, spec in zip(arguments, found, strict=True):
            if isinstance(value, torch.Tensor):
                spec["offset"] = end
                end += -(-size_bytes(spec) // ALIGNMENT) * ALIGNMENT
    return specs, end


def _in_memory_order(page: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Both tensors by the addresses of the first, each place once; in one dimension if they lie side by side."""
    stride = page.stride()
    order = sorted(range(page.dim()), key=lambda dim: -stride[dim])
    place, values = (stored_once(x, by=page).permute(order) for x in (page, value))
    return (place.view(-1), values.reshape(-1)) if place.is_contiguous() else (place, values)


def gaps(specs: Iterable[Message], size: int) -> Iterator[tuple[int, int]]:
    """From where to where no tensor lies in the first bytes of memory; tensors have an `offset` there."""
    end = 0
    for spec in sorted((spec for spec in specs if "offset" in spec), key=lambda spec: spec["offset"]):
        yield end, spec["offset"]
        end = end_of([spec])
    yield end, size


def clear_gaps(memory: int, specs: Iterable[Message]) -> None:
    """Zero the bytes of a handle's memory in which no tensor lies: a process could leave a note for the next there."""
    specs = list(specs)
    for start, end in gaps(specs, os.fstat(memory).st_size):
        os.pwrite(memory, bytes(end - start), start)
    strided = [spec for spec in specs if "stride" in spec]
    for spec, flat in zip(strided, mapped(memory, [flat_spec(spec) for spec in strided]), strict=True):
        between = torch.ones(len(flat), dtype=torch.bool)
        between.as_strided(spec["shape"], spec["stride"]).fill_(False)  # noqa: FBT003
        flat.view(torch.uint8).view(len(flat), -1)[between] = 0


def map_in(memory: int) -> MapTensors:
    """Gives tensors in the memory of a handle, which grows as needed."""

    def map_tensors(specs: list[Message], size: int) -> list[torch.Tensor]:
        if (guarded := with_guard(size)) > os.fstat(memory).st_size:
            os.ftruncate(memory, guarded)
        return mapped(memory, specs)

    return map_tensors


def valid_dtype(tensor: RemoteTensor) -> torch.dtype:
    """Its type. Raises ValueError if the layout is invalid, or takes much more memory than the elements."""
    dtype = getattr(torch, tensor.dtype, None)
    if not isinstance(dtype, torch.dtype) or len(tensor.shape) != len(tensor.stride):
        raise ValueError(f"not a valid layout of a tensor: {tensor}")
    count = math.prod(tensor.shape)
    if tensor.span > max(MOST_STRETCH * count, ANY_STRETCH):
        raise ValueError(f"the output has {count} elements but spans {tensor.span}")
    return dtype


def fill_with_garbage(flat: torch.Tensor, tensor: RemoteTensor) -> None:
    """Overwrite a tensor's elements, given all from the first to the last, but not those between them.

    No integer is always wrong, so what overwrites integers cannot be foreseen.
    """
    size = flat.itemsize
    always_wrong = flat.is_floating_point() or flat.dtype is torch.bool
    garbage = GARBAGE if always_wrong else secrets.randbelow(256)
    shape, stride = (*tensor.shape, size), (*(step * size for step in tensor.stride), 1)
    flat.view(torch.uint8).as_strided(shape, stride).fill_(garbage)


class _Span(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def _transfer(call: str, pid: int, pointer: int, ours: torch.Tensor) -> None:
    """Copy between a contiguous tensor and the same number of bytes in another process (process_vm_readv(2))."""
    transfer = getattr(ctypes.CDLL(None, use_errno=True), call)
    transfer.restype = ctypes.c_ssize_t
    length, done = ours.numel() * ours.element_size(), 0
    while done < length:
        here, there = _Span(ours.data_ptr() + done, length - done), _Span(pointer + done, length - done)
        count = transfer(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
        if count < 0 and ctypes.get_errno() == errno.ESRCH:
            raise ProcessLookupError(pid)
        if count < 0 and ctypes.get_errno() == errno.EPERM:
            raise JudgeError(
                "this system forbids the judge to access its worker's memory", hint="allow ptrace of child processes"
            )
        if count <= 0:
            raise ValueError(f"the memory at {pointer:#x} cannot be accessed")
        done += count


class HostMemory:
    """Transfers tensors in host memory: inputs in shared memory, outputs read from the worker's memory.

    Attributes:
        slots: Most sets of inputs for timed calls that a worker has at once.
        slot_bytes: What these and their outputs may take together, unless it is one set.
        page_bytes: Where inputs end at a multiple of it, what lies behind them cannot be accessed.
        withholds: Whether a stopped worker could already compute on its inputs; then the judge writes a part of them
            last.
    """

    slots, slot_bytes = 32, 512 << 20
    withholds = False
    page_bytes = mmap.PAGESIZE

    def share(
        self, worker: WorkerProcess, sets: Sequence[Sequence[Any]], start: int = 0, *, strided: bool = False
    ) -> SharedTensors:
        """Put arguments into the memory that the worker maps; from `start` on they replace earlier ones.

        Args:
            strided: Whether tensors keep their strides.
        """
        return SharedTensors(sets, map_in(worker.memory), start, strided=strided)

    def spoil_gaps(self, worker: WorkerProcess, shared: SharedTensors) -> None:
        """Fill the memory between the inputs and right behind them, so that no candidate can rely on zeros there."""
        byte = bytes([secrets.choice(FILLERS)])
        for start, end in shared.gaps:
            os.pwrite(worker.memory, byte * (end - start), start)

    def read(self, worker: WorkerProcess, tensor: RemoteTensor) -> torch.Tensor:
        """A copy of an output.

        Raises:
            ValueError: the layout is invalid, or the memory cannot be read.
            ProcessLookupError: the worker has ended.
            JudgeError: the system forbids it.
        """
        flat = torch.empty(tensor.span, dtype=valid_dtype(tensor))
        _transfer("process_vm_readv", worker.pid, tensor.pointer, flat)
        return flat.as_strided(tensor.shape, tensor.stride)

    def overwrite(self, worker: WorkerProcess, tensor: RemoteTensor) -> None:
        """Fill the elements of an output with garbage; errors as in `read`."""
        flat = torch.as_strided(self.read(worker, tensor), (tensor.span,), (1,))
        fill_with_garbage(flat, tensor)
        _transfer("process_vm_writev", worker.pid, tensor.pointer, flat)

    def lies_in_inputs(self, worker: WorkerProcess, tensor: RemoteTensor) -> bool:
        """Whether an output overlaps a mapping of the shared memory. Raises ProcessLookupError if the worker ended."""
        last = tensor.pointer + tensor.span * getattr(torch, tensor.dtype).itemsize
        status = os.fstat(worker.memory)
        file = [f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}", str(status.st_ino)]
        for line in Path(f"/proc/{worker.pid}/maps").read_text(encoding="utf-8").splitlines():
            span, _, _, *mapped_file = line.split(maxsplit=5)[:5]
            start, end = (int(edge, 16) for edge in span.split("-"))
            if start < last and tensor.pointer < end and mapped_file == file:
                return True
        return False

    def before_call(self, last: Sequence[Callable[[], None]]) -> None:
        """Prepare for a call, and do what comes last."""
        for write in last:
            write()

    def after_call(self) -> None:
        """Wait for work that goes on after the reply to a call: a process that is stopped does none."""

    def check_rest(self, worker: WorkerProcess) -> None:
        """Raises a Fault if a worker that is stopped works on all the same; without a GPU it cannot."""

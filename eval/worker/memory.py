"""Tensors between judge and worker: inputs in shared pages, outputs read out of the worker's memory.

The worker copies nothing and says only where its outputs lie, so what the judge reads is what stood there when the
answer came, and reading costs the candidate no time. Linux only (process_vm_readv).
"""

import ctypes
import errno
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import Field, NonNegativeInt

from eval.reference import same_bits
from eval.worker.channel import Message
from eval.worker.mapping import mapped
from eval.worker.process import WorkerProcess
from kb.errors import JudgeError
from kb.model.base import Frozen

ALIGNMENT = 64
"""Bytes; as torch aligns its own CPU tensors."""
MOST_STRETCH = 4
"""How many times its own size a strided output may span."""

Pointer = Annotated[int, Field(ge=0, lt=1 << 63)]


class Layout(Frozen):
    """How a tensor lies in memory."""

    dtype: str
    """As torch prints it, without the prefix; what it is instead when it is no plain tensor."""
    shape: tuple[NonNegativeInt, ...] = ()
    stride: tuple[NonNegativeInt, ...] = ()
    """In elements."""

    @property
    def span(self) -> int:
        """Elements from its first to its last, inclusive."""
        if 0 in self.shape:
            return 0
        return 1 + sum((n - 1) * step for n, step in zip(self.shape, self.stride, strict=True))


class SharedTensors:
    """Sets of arguments in the memory that judge and worker share. Values that are no tensors travel by value.

    What was shared before is written over.

    Args:
        memory: Handle of that memory.
        sets: Arguments of one call each; all alike in shapes and types.
    """

    def __init__(self, memory: int, sets: Sequence[Sequence[Any]]) -> None:
        self.specs: list[list[Message]] = []
        size = 0
        for arguments in sets:
            described: list[Message] = []
            for value in arguments:
                if not isinstance(value, torch.Tensor):
                    described.append({"value": value})
                    continue
                dtype = str(value.dtype).removeprefix("torch.")
                described.append({"shape": list(value.shape), "dtype": dtype, "offset": size})
                size += -(-value.numel() * value.element_size() // ALIGNMENT) * ALIGNMENT
            self.specs.append(described)
        if size > os.fstat(memory).st_size:
            os.ftruncate(memory, size)
        pages = iter(mapped(memory, [spec for specs in self.specs for spec in specs if "value" not in spec]))
        self.sets = [[next(pages) if isinstance(v, torch.Tensor) else v for v in arguments] for arguments in sets]
        for number, arguments in enumerate(sets):
            self.write(number, arguments)

    def write(self, number: int, arguments: Sequence[Any]) -> None:
        """Put other values into one set."""
        for page, value in zip(self.sets[number], arguments, strict=True):
            if isinstance(page, torch.Tensor):
                page.copy_(value)

    def unchanged(self, number: int, arguments: Sequence[Any]) -> bool:
        """Whether a set still holds these values, bit for bit."""
        pairs = zip(self.sets[number], arguments, strict=True)
        return all(same_bits(page, value) for page, value in pairs if isinstance(page, torch.Tensor))


def read_tensor(pid: int, pointer: int, layout: Layout) -> torch.Tensor:
    """A copy of a tensor in another process's memory.

    Raises:
        ValueError: there is no such layout, or nothing can be read there.
        ProcessLookupError: the process is gone.
        JudgeError: this system does not allow it.
    """
    dtype = getattr(torch, layout.dtype, None)
    if not isinstance(dtype, torch.dtype) or len(layout.shape) != len(layout.stride):
        raise ValueError(f"no tensor lies as {layout}")
    count = math.prod(layout.shape)
    if layout.span > MOST_STRETCH * max(count, ALIGNMENT):
        raise ValueError(f"the output spans {layout.span} elements for {count}")
    flat = torch.empty(layout.span, dtype=dtype)
    _read(pid, pointer, flat)
    return flat.as_strided(layout.shape, layout.stride)


def lies_in(pid: int, pointer: int, size_bytes: int, memory: int) -> bool:
    """Whether any part of another process's range of addresses is the memory of a handle of ours.

    Raises ProcessLookupError when the process is gone.
    """
    status = os.fstat(memory)
    file = [f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}", str(status.st_ino)]
    for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines():
        span, _, _, *mapped_file = line.split(maxsplit=5)[:5]
        start, end = (int(edge, 16) for edge in span.split("-"))
        if start < pointer + size_bytes and pointer < end and mapped_file == file:
            return True
    return False


class _Span(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def _read(pid: int, pointer: int, into: torch.Tensor) -> None:
    if sys.platform != "linux":
        raise JudgeError("candidates can be judged on Linux only", hint="use a Linux machine")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.process_vm_readv.restype = ctypes.c_ssize_t
    length, done = into.numel() * into.element_size(), 0
    while done < length:
        here, there = _Span(into.data_ptr() + done, length - done), _Span(pointer + done, length - done)
        count = libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
        if count < 0 and ctypes.get_errno() == errno.ESRCH:
            raise ProcessLookupError(pid)
        if count < 0 and ctypes.get_errno() == errno.EPERM:
            raise JudgeError(
                "this system does not let the judge read its worker's memory", hint="allow ptrace of children"
            )
        if count <= 0:
            raise ValueError(f"nothing can be read at {pointer:#x}")
        done += count


class HostMemory:
    """Hands tensors over in memory of this machine: inputs on shared pages, outputs read where they lie."""

    def share(self, worker: WorkerProcess, sets: Sequence[Sequence[Any]]) -> SharedTensors:
        """Put arguments where the worker sees them, in place of what was there."""
        return SharedTensors(worker.memory, sets)

    def read(self, worker: WorkerProcess, pointer: int, layout: Layout) -> torch.Tensor:
        """A copy of an output. Raises what `read_tensor` raises."""
        return read_tensor(worker.pid, pointer, layout)

    def lies_in_inputs(self, worker: WorkerProcess, pointer: int, size_bytes: int) -> bool:
        """Whether any part of an output is memory that was shared. Raises ProcessLookupError: the worker is gone."""
        return lies_in(worker.pid, pointer, size_bytes, worker.memory)

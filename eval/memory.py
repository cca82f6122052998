"""Tensors between judge and worker: inputs in shared pages, outputs read out of the worker's memory.

The worker copies nothing and says only where its outputs lie, so what the judge reads is what stood there when the
answer came, and reading costs the candidate no time. Linux only (process_vm_readv).
"""

import ctypes
import errno
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from eval.channel import Message
from eval.python_model import mapped
from kb.errors import JudgeError

ALIGNMENT = 64
"""Bytes; as torch aligns its own CPU tensors."""
MOST_STRETCH = 4
"""How many times its own size a strided output may span."""


class SharedTensors:
    """Sets of arguments in a file that judge and worker both map. Values that are no tensors travel by value.

    Args:
        sets: Arguments of one call each; all alike in shapes and types.
    """

    def __init__(self, path: Path, sets: Sequence[Sequence[Any]]) -> None:
        self.path = path
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
        with path.open("wb") as file:
            file.truncate(max(size, ALIGNMENT))
        pages = iter(mapped(path, [spec for specs in self.specs for spec in specs if "value" not in spec]))
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


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8)) if a.numel() else True


def read_tensor(pid: int, place: Message) -> torch.Tensor:
    """A copy of a tensor in another process's memory.

    Args:
        place: `pointer`, `shape`, `stride` (in elements, not negative) and `dtype`.

    Raises:
        ValueError: the place is not well-formed, or nothing can be read there.
    """
    dtype = getattr(torch, str(place["dtype"]), None)
    shape, stride = [int(n) for n in place["shape"]], [int(n) for n in place["stride"]]
    if not isinstance(dtype, torch.dtype) or len(shape) != len(stride) or min([0, *shape, *stride]) < 0:
        raise ValueError(f"no tensor is at {place}")
    count = math.prod(shape)
    span = 1 + sum((n - 1) * step for n, step in zip(shape, stride, strict=True)) if count else 0
    if span > MOST_STRETCH * max(count, ALIGNMENT):
        raise ValueError(f"the output spans {span} elements for {count}")
    flat = torch.empty(span, dtype=dtype)
    _read(pid, int(place["pointer"]), flat)
    return flat.as_strided(shape, stride)


def mapped_file(pid: int, pointer: int) -> str:
    """The file whose pages lie at an address of another process; empty when it is plain memory."""
    for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines():
        span, _, rest = line.partition(" ")
        start, end = (int(edge, 16) for edge in span.split("-"))
        if start <= pointer < end:
            return rest.split(maxsplit=4)[4] if len(rest.split(maxsplit=4)) > 4 else ""
    return ""


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
        if count < 0 and ctypes.get_errno() == errno.EPERM:
            raise JudgeError(
                "this system does not let the judge read its worker's memory", hint="allow ptrace of children"
            )
        if count <= 0:
            raise ValueError(f"nothing can be read at {pointer:#x}")
        done += count

"""Tensors in memory shared by judge and worker. Both use this module; torch is imported only when needed."""

import fcntl
import mmap
import os
import sys
from collections.abc import Sequence
from typing import Any

from eval.worker.channel import Message


def spec_of(argument: Any) -> Message:
    """Shape and type of a tensor; anything else itself."""
    import torch

    if not isinstance(argument, torch.Tensor):
        return {"value": argument}
    return {"shape": list(argument.shape), "dtype": str(argument.dtype).removeprefix("torch.")}


def mapped(memory: int, specs: Sequence[Message]) -> list[Any]:
    """Tensors in the memory of a handle; each spec has its `offset` there."""
    import torch

    places = []
    for spec in specs:
        dtype = getattr(torch, spec["dtype"])
        size = torch.Size(spec["shape"]).numel() * dtype.itemsize
        places.append((slice(spec["offset"], spec["offset"] + size), dtype, spec["shape"]))
    if not (end := max((place.stop for place, _, _ in places), default=0)):
        return [torch.empty(shape, dtype=dtype) for _, dtype, shape in places]
    pages = torch.frombuffer(shared_pages(memory, end), dtype=torch.uint8)
    return [pages[place].view(dtype).view(shape) for place, dtype, shape in places]


def shared_pages(memory: int, size: int) -> mmap.mmap:
    """The first `size` bytes of a handle's memory, all in place: otherwise the first calls on it would be slower."""
    return mmap.mmap(memory, size, mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0))


def new_memory(size: int | None = None) -> int:
    """Anonymous memory to share with workers, sealed so that no side can shrink it. Only the judge makes it.

    Args:
        size: Its bytes, in whole pages, whose number then never changes; None: it grows as needed.
    """
    if sys.platform != "linux":
        from kb.errors import JudgeError  # a worker cannot read it

        raise JudgeError("candidates are judged on Linux only", hint="run kb on a Linux machine")
    memory = os.memfd_create("kb-tensors", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(memory, -(-(size or 0) // mmap.PAGESIZE) * mmap.PAGESIZE)
    fixed = fcntl.F_SEAL_GROW if size is not None else 0
    fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fixed | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    return memory

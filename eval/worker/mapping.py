"""Tensors in memory shared by judge and worker. Both use this module; torch is imported only when needed."""

import mmap
from collections.abc import Sequence
from typing import Any

from eval.worker.channel import Message


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
    pages = torch.frombuffer(mmap.mmap(memory, end), dtype=torch.uint8)
    return [pages[place].view(dtype).view(shape) for place, dtype, shape in places]

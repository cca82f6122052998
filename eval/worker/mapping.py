"""Tensors in memory shared by judge and worker. Both use this module; torch is imported only when needed."""

import ctypes
import math
import mmap
from collections.abc import Iterable, Sequence
from typing import Any

from eval.worker.channel import Message
from eval.worker.dtypes import ITEM_BYTES


def spec_of(argument: Any, *, strided: bool = False) -> Message:
    """Shape and type of a tensor, and if wanted its strides in elements; anything else itself."""
    import torch

    if not isinstance(argument, torch.Tensor):
        return {"value": argument}
    stride = {"stride": list(argument.stride())} if strided and not argument.is_contiguous() else {}
    return {"shape": list(argument.shape), "dtype": str(argument.dtype).removeprefix("torch."), **stride}


def is_in_order(x: Any) -> bool:
    """Whether the elements of a tensor lie side by side in their order; channels may come last."""
    if x.is_contiguous():
        return True
    import torch

    return any(x.is_contiguous(memory_format=last) for last in (torch.channels_last, torch.channels_last_3d))


def size_bytes(spec: Message) -> int:
    """Bytes from the first to the last element of a tensor; without strides it is contiguous."""
    shape, item = spec["shape"], ITEM_BYTES[spec["dtype"]]
    if "stride" not in spec or 0 in shape:
        return math.prod(shape) * item
    span: int = 1 + sum((size - 1) * step for size, step in zip(shape, spec["stride"], strict=True))
    return span * item


def end_of(specs: Iterable[Message]) -> int:
    """Where the last of some tensors ends; each spec has its `offset`."""
    return max((spec["offset"] + size_bytes(spec) for spec in specs), default=0)


def view(page: Any, spec: Message) -> Any:
    """The tensor that a spec describes, in the bytes of its memory."""
    import torch

    flat = page[spec["offset"] : end_of([spec])].view(getattr(torch, spec["dtype"]))
    return flat.as_strided(spec["shape"], spec["stride"]) if "stride" in spec else flat.view(spec["shape"])


def flat_spec(spec: Message) -> Message:
    """All elements of a tensor from the first to the last, and those between them that are not its own."""
    count = size_bytes(spec) // ITEM_BYTES[spec["dtype"]]
    return {"shape": [count], "dtype": spec["dtype"], "offset": spec["offset"]}


def mapped(memory: int, specs: Sequence[Message]) -> list[Any]:
    """Tensors in the memory of a handle; each spec has its `offset` there."""
    import torch

    page = torch.frombuffer(shared_pages(memory, end_of(specs)), dtype=torch.uint8)
    return [view(page, spec) for spec in specs]


def shared_pages(memory: int, size: int) -> mmap.mmap:
    """The first `size` bytes of a handle's memory, all in place: otherwise the first calls on it would be slower.

    Behind them the memory has another page, which nobody can access here: who reads far behind the last tensor crashes.
    """
    guarded = with_guard(size)
    pages = mmap.mmap(memory, guarded, mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0))
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + guarded - mmap.PAGESIZE), mmap.PAGESIZE, 0)  # PROT_NONE
    return pages


def with_guard(size: int) -> int:
    """Bytes of whole pages, and of that one behind them."""
    return (-(-size // mmap.PAGESIZE) + 1) * mmap.PAGESIZE

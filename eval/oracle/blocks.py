"""Large tensors block by block: a GPU that computes with them may have no room for copies of all of them."""

from collections.abc import Iterator

import torch

BLOCK = 1 << 24
"""Elements of a block."""


def blocks(device: str, *tensors: torch.Tensor) -> Iterator[tuple[int, tuple[torch.Tensor, ...]]]:
    """Tensors of one shape as one-dimensional blocks on a device, each with the place of its first element.

    A block is a part of its tensor if that is contiguous and lies on the device, and otherwise a copy.
    """
    flat = [tensor.reshape(-1) for tensor in tensors]
    for start in range(0, len(flat[0]), BLOCK):
        yield start, tuple(tensor[start : start + BLOCK].to(device, non_blocking=device != "cpu") for tensor in flat)


def on_host(tensor: torch.Tensor) -> torch.Tensor:
    """The same in the host's memory. A GPU copies to and from pinned pages several times as fast as others."""
    pinned = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=tensor.is_cuda)
    return pinned.copy_(tensor)


def write_block(tensor: torch.Tensor, start: int, block: torch.Tensor) -> None:
    """Put a block back into a contiguous tensor."""
    tensor.view(-1)[start : start + len(block)].copy_(block)


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors of the same shape and type are equal bit for bit, wherever they lie."""
    return all(_same(x.contiguous(), y.contiguous()) for _, (x, y) in blocks(a.device.type, a, b))


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """For blocks. As many bytes as possible are compared at once: single ones take torch six times as long."""
    a, b = a.view(torch.uint8), b.view(torch.uint8)
    if all(len(each) % 8 == each.storage_offset() % 8 == 0 for each in (a, b)):
        a, b = a.view(torch.int64), b.view(torch.int64)
    return torch.equal(a, b)

"""What torch reaches on this device with as many bytes and operations as a task has: a roof below the stated rates."""

import time
from collections.abc import Callable, Sequence

import torch

from eval.roofline import SMALL_BYTES, operand_type, tensor_bytes
from kb.types.kernels import Interface

MOST_BYTES = 1 << 28
"""Larger tasks are scaled down to this, and the time is scaled up."""
MOST_ROWS = {"cpu": 2048, "cuda": 4096}
"""Rows of the largest matrices that are multiplied, likewise."""
MULTIPLIED = {"cpu": ("float32", "float64"), "cuda": ("float64", "float16", "bfloat16")}
"""Types of matrices for which torch has a fast product on every device of this kind. On a GPU its product in float32 is
no roof: a kernel may split it into products of narrower parts (see eval.roofline)."""
RUN_S, FEW = 0.2, 5
"""Calls are timed for so long, and at least so often."""


def reachable_s(interface: Interface, device: str) -> float:
    """Seconds for the reads and writes of a task, or for a square product with as many operations, if that is longer.

    The least of several runs; 0 for what fits into caches, and where the device has no memory left.
    """
    try:
        return max(_moving_s(interface, device), _multiplying_s(interface, device))
    except torch.OutOfMemoryError:
        return 0.0


def _moving_s(interface: Interface, device: str) -> float:
    """Copies what is read and written; what is read beyond that is summed, what is written beyond that is filled."""
    read, written = (
        sum(map(tensor_bytes, tensors)) for tensors in ((*interface.inputs, *interface.state), interface.outputs)
    )
    if read + written <= SMALL_BYTES:
        return 0.0
    scale = max(1.0, (read + written) / MOST_BYTES)
    source, target = (torch.zeros(max(1, int(size / scale / 4)), device=device) for size in (read, written))
    both = min(len(source), len(target))
    works: list[tuple[Callable[[torch.Tensor, torch.Tensor], object], torch.Tensor, torch.Tensor]] = [
        (lambda a, b: b.copy_(a), source[:both], target[:both]),
        (lambda a, b: a.sum(), source[both:], target[:0]),
        (lambda a, b: b.zero_(), source[:0], target[both:]),
    ]
    return scale * sum(_beyond_a_start_s(work, a, b) for work, a, b in works if len(a) + len(b) > 0)


def _multiplying_s(interface: Interface, device: str) -> float:
    dtype = operand_type(interface)
    if not interface.matrix_operations or dtype not in MULTIPLIED[device]:
        return 0.0
    rows = min(MOST_ROWS[device], round((interface.matrix_operations / 2) ** (1 / 3)))
    factor = torch.ones(rows, rows, dtype=getattr(torch, dtype), device=device)
    times: float = interface.matrix_operations / (2 * rows**3)
    return times * _beyond_a_start_s(torch.matmul, factor, factor)


def _beyond_a_start_s(work: Callable[[torch.Tensor, torch.Tensor], object], *tensors: torch.Tensor) -> float:
    """Seconds of some work beyond what it takes on next to nothing."""
    least = [tensor[(slice(1),) * tensor.dim()] for tensor in tensors]
    return max(0.0, _seconds(work, tensors) - _seconds(work, least))


def _seconds(work: Callable[..., object], tensors: Sequence[torch.Tensor]) -> float:
    """Of the fastest of several calls after the first: other work only slows them."""
    begin, calls_s = time.monotonic(), list[float]()
    while len(calls_s) <= FEW or time.monotonic() < begin + RUN_S:
        start = time.perf_counter()
        work(*tensors)
        if tensors[0].is_cuda:
            torch.cuda.synchronize()
        calls_s.append(time.perf_counter() - start)
    return min(calls_s[1:])

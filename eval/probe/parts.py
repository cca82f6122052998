"""Measurements that are the same on CPUs and GPUs: memory bandwidth and matrix products, both with torch."""

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import NamedTuple

import torch

from eval.probe.sampling import Call, Clock, Extent, sampled, timed
from kb.types.measurement import Measurement

MIB = 1 << 20


class Product(NamedTuple):
    """A kind of matrix product."""

    condition: str
    prepare: Callable[[int], Call]
    """Takes a number of rows; returns a call that multiplies two random square matrices of that size."""
    how: str


def bandwidth(
    device: str, read: Callable[[torch.Tensor], object], how: str, clock: Clock, extent: Extent
) -> list[Measurement]:
    """Bandwidth of copies and reads, the best and that of each size. A copy counts bytes read and bytes written.

    Args:
        read: Reads a whole float32 tensor and writes almost nothing.
        how: Description of `read`.
    """
    source = torch.rand(max(extent.copied_bytes) // torch.float32.itemsize, device=device)
    goal = torch.zeros_like(source)
    runs = [
        run
        for size in extent.copied_bytes
        for run in (_in_turn(torch.Tensor.copy_, size, goal, source), _in_turn(read, size, source))
    ]
    seconds = iter(sampled(runs, clock, extent))
    copies, reads = [], []
    for size in extent.copied_bytes:
        part = f"{size // MIB} MiB"
        spread = f"{part} a call, over {max(extent.copied_bytes) // MIB} MiB in turn"
        copied = [2 * size / s for s in next(seconds)]
        copy_how = f"torch copy_, bytes read and written, {spread}"
        copies.append(timed("hbm_bandwidth", copied, "GB/s", f"copy, {part}", copy_how))
        was_read = [size / s for s in next(seconds)]
        reads.append(timed("hbm_bandwidth", was_read, "GB/s", f"read, {part}", f"{how}, {spread}"))
    return [_best("copy", copies), _best("read", reads), *copies, *reads]


def _in_turn(call: Callable[..., object], size: int, *tensors: torch.Tensor) -> Call:
    """A call on the next parts of so many bytes each time, so that no cache still holds them."""
    parts = cycle(zip(*(torch.split(tensor, size // tensor.itemsize) for tensor in tensors), strict=True))
    return lambda: call(*next(parts))


def _best(condition: str, readings: Sequence[Measurement]) -> Measurement:
    best = max(readings, key=lambda r: r.value)
    return best.model_copy(update={"condition": condition, "how": f"{best.how}, the best size"})


def product_peak(product: Product, unit: str, clock: Clock, extent: Extent) -> list[Measurement]:
    """The best rate of a matrix product over all sizes."""
    calls = [product.prepare(size) for size in extent.matrix_sizes]
    readings = [
        timed("peak_flops", [2 * size**3 / s for s in seconds], unit, product.condition, product.how)
        for size, seconds in zip(extent.matrix_sizes, sampled(calls, clock, extent), strict=True)
    ]
    best = max(readings, key=lambda r: r.value)
    sizes = ", ".join(f"{n} cubed {r.value:.4g}" for n, r in zip(extent.matrix_sizes, readings, strict=True))
    return [best.model_copy(update={"how": f"{product.how}, random values, the best of {sizes} {unit}"})]


def torch_product(condition: str, dtype: torch.dtype, device: str) -> Product:
    """`torch.matmul` of two matrices of `dtype`."""

    def prepare(size: int) -> Call:
        a, b = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
        product = torch.empty_like(a)
        return lambda: torch.matmul(a, b, out=product)

    return Product(condition, prepare, "torch.matmul")

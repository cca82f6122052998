"""How exactly products of float32 are computed: in TF32 where torch may, or never.

TF32 has the exponents of float32 and the 10 bits of float16 behind the point. Torch lets cuDNN convolve in it unless
it is told otherwise, and cuDNN decides so by sizes and by trying. So the error that a reference may have in TF32 is
computed, as that of products whose factors are rounded.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from eval.oracle.blocks import blocks, write_block
from kb.types.kernels import Precision

TF32_BITS, TF32_EPSILON = 11, 2.0**-10
"""Bits of a number, with the leading one, and the distance from 1 to the next (NVIDIA A100 whitepaper, 2020)."""
RECURRENT = "_cudnn_rnn"
CUDNN = frozenset({"convolution", RECURRENT})
PRODUCTS = frozenset({"mm", "bmm", "addmm", "baddbmm", "_scaled_dot_product_efficient_attention"})
"""Operations that torch computes in TF32 if `torch.backends.cudnn`, or `torch.backends.cuda.matmul`, allows it."""


@contextmanager
def computed_in(precision: Precision | None) -> Iterator[None]:
    """Lets torch use TF32 as it usually does here, or not at all; if None, for everything that it can."""
    cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
    before = cudnn.allow_tf32, matmul.allow_tf32
    if precision is not Precision.DEFAULT:
        cudnn.allow_tf32 = matmul.allow_tf32 = precision is None
    try:
        yield
    finally:
        cudnn.allow_tf32, matmul.allow_tf32 = before


def tf32_operations(device: str) -> frozenset[str]:
    """The operations that torch may compute in TF32 on a device; empty on a CPU, and where HIP runs the kernels."""
    if device != "cuda" or torch.version.hip or not torch.cuda.is_tf32_supported():
        return frozenset()
    cudnn, matmul = torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
    return (CUDNN if cudnn else frozenset()) | (PRODUCTS if matmul else frozenset())


class InTf32(TorchDispatchMode):
    """While it is entered, some operations in float64 get factors with the bits of TF32.

    Args:
        operations: Their names.
        draw: 0 rounds towards zero, as matrix units do that ignore the other bits; other numbers are seeds of random
            roundings, up or down. None changes nothing.

    Attributes:
        seen: Whether there was such an operation.
    """

    def __init__(self, operations: frozenset[str], draw: int | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._operations, self._draw, self.seen = operations, draw, False

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        name = func.overloadpacket.__name__
        if name in self._operations:
            self.seen = True
            if self._draw is not None:
                dimensions = 1 if name == RECURRENT else 2  # its weights lie in one row, others that do are added
                args = tree_map_only(torch.Tensor, lambda x: self._rounded(x) if x.dim() >= dimensions else x, args)
        return func(*args, **(kwargs or {}))

    def _rounded(self, x: torch.Tensor) -> torch.Tensor:
        """A factor with the bits of TF32."""
        if not x.is_floating_point():
            return x
        rounded = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        generator = torch.Generator(x.device).manual_seed(self._draw or 0)
        for start, (block,) in blocks(x.device.type, x):
            mantissa, exponent = torch.frexp(block)
            mantissa.mul_(2.0**TF32_BITS)
            if self._draw:
                mantissa.add_(torch.rand(block.shape, generator=generator, device=x.device)).floor_()
            write_block(rounded, start, torch.ldexp(mantissa.trunc_(), (exponent - TF32_BITS).to(x.dtype)))
        return rounded


def farther(native: torch.Tensor, other: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """For each place, that of two values which is farther from the expected one and finite, in the first one's type."""
    result = torch.empty(native.shape, dtype=native.dtype, device=native.device)
    for start, (one, two, right) in blocks(native.device.type, native, other, expected):
        moved = (two - right).abs() > (one - right).abs() if right.is_floating_point() else two != right
        write_block(result, start, torch.where(moved & two.isfinite(), two.to(one.dtype), one))
    return result

"""A function of libdevice that torch has too, so that it is also computed in the interpreter."""

import torch
import triton
import triton.language as tl
from torch import nn
from triton.language.extra import libdevice


@triton.jit
def gelu(x_ptr, y_ptr, n, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, 0.5 * x * (1.0 + libdevice.erf(x * 0.7071067811865476)), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        assert x.is_cuda
        y = torch.empty_like(x)
        gelu[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), block=256)
        return y

"""An argument of forward that is not a tensor, and a block pointer."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def scale(x, y, n, factor, block: tl.constexpr):
    start = tl.program_id(0) * block
    source = tl.make_block_ptr(x, shape=(n,), strides=(1,), offsets=(start,), block_shape=(block,), order=(0,))
    target = tl.make_block_ptr(y, shape=(n,), strides=(1,), offsets=(start,), block_shape=(block,), order=(0,))
    tl.store(target, tl.load(source, boundary_check=(0,)) * factor, boundary_check=(0,))


class ModelNew(nn.Module):
    def forward(self, x, factor):
        assert x.is_contiguous()
        y = torch.empty_like(x)
        scale[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), factor, block=256)
        return y

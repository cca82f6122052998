"""Each program reads again what it has written: powers first, then these divided by their sum."""

import triton
import triton.language as tl
from torch import nn


@triton.jit
def softmax_row(x, y, cols, block: tl.constexpr):
    x += tl.program_id(0) * cols
    y += tl.program_id(0) * cols
    top = float("-inf")
    for start in range(0, cols, block):
        i = start + tl.arange(0, block)
        top = tl.maximum(top, tl.max(tl.load(x + i, mask=i < cols, other=float("-inf")), axis=0))
    total = 0.0
    for start in range(0, cols, block):
        i = start + tl.arange(0, block)
        power = tl.exp(tl.load(x + i, mask=i < cols, other=float("-inf")) - top)
        tl.store(y + i, power, mask=i < cols)
        total += tl.sum(power, axis=0)
    for start in range(0, cols, block):
        i = start + tl.arange(0, block)
        tl.store(y + i, tl.load(y + i, mask=i < cols) / total, mask=i < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.new_empty(x.shape)
        softmax_row[(x.shape[0],)](x, y, x.shape[1], block=1024)
        return y

"""A block is as wide as a row, which is no power of two."""

import triton
import triton.language as tl
from torch import nn


@triton.jit
def sum_row(x, y, cols: tl.constexpr):
    i = tl.arange(0, cols)
    tl.store(y + tl.program_id(0), tl.sum(tl.load(x + tl.program_id(0) * cols + i), 0))


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        y = x.new_empty(rows)
        sum_row[(rows,)](x, y, cols)
        return y

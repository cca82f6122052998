"""A grid of twice the next power of two: most programs find nothing to do."""

import triton
import triton.language as tl
from torch import nn


@triton.jit
def sum_row(x, y, rows, cols, block: tl.constexpr):
    row = tl.program_id(0)
    if row < rows and tl.program_id(1) == 0:
        i = tl.arange(0, block)
        tl.store(y + row, tl.sum(tl.load(x + row.to(tl.int64) * cols + i, mask=i < cols, other=0.0), axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        y = x.new_empty(rows)
        sum_row[(triton.next_power_of_2(rows), 2)](x, y, rows, cols, block=triton.next_power_of_2(cols))
        return y

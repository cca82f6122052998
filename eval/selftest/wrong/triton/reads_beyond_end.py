"""The kernel reads beyond the end of its input."""

import triton
import triton.language as tl
from torch import nn


@triton.jit
def sum_row(x, y, cols, block: tl.constexpr):
    i = tl.arange(0, block)
    values = tl.load(x + tl.program_id(0) * cols + i)
    tl.store(y + tl.program_id(0), tl.sum(tl.where(i < cols, values, 0.0), 0))


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        y = x.new_empty(rows)
        sum_row[(rows,)](x, y, cols, block=triton.next_power_of_2(cols))
        return y

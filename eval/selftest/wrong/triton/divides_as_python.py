"""A loop variable of Python rounds down, one of Triton towards zero: the compiler drops the branch that works."""

import triton
import triton.language as tl
from torch import nn


@triton.jit
def sum_row(x, y, cols, block: tl.constexpr):
    i = tl.arange(0, block)
    row = tl.program_id(0)
    for k in range(1):
        if (k - 1) // 2 == -1:
            tl.store(y + row, tl.sum(tl.load(x + row * cols + i, mask=i < cols, other=0.0), 0))


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        y = x.new_empty(rows)
        sum_row[(rows,)](x, y, cols, block=triton.next_power_of_2(cols))
        return y

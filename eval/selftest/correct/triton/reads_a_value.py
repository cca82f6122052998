"""A branch of the host code depends on a value of the input, which torch sums up."""

import triton
import triton.language as tl
from torch import nn


@triton.jit
def sum_row(x, y, cols, block: tl.constexpr):
    i = tl.arange(0, block)
    tl.store(y + tl.program_id(0), tl.sum(tl.load(x + tl.program_id(0) * cols + i, mask=i < cols, other=0), 0))


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        y = x.new_empty(rows)
        if x.abs().sum().item() < 1e30:
            sum_row[(rows,)](x, y, cols, block=triton.next_power_of_2(cols))
        return y

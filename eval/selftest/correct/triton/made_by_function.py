"""The kernel is made by a function."""

import triton
import triton.language as tl
from torch import nn


def make():
    @triton.jit
    def sum_row(x, y, cols, block: tl.constexpr):
        i = tl.arange(0, block)
        tl.store(y + tl.program_id(0), tl.sum(tl.load(x + tl.program_id(0) * cols + i, mask=i < cols, other=0), 0))

    return sum_row


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        y = x.new_empty(rows)
        make()[(rows,)](x, y, cols, block=triton.next_power_of_2(cols))
        return y

"""As many programs as a chip runs at a time, each of which strides over the rows."""

import triton
import triton.language as tl
from torch import nn

PROGRAMS = 24


@triton.jit
def sum_rows(x, y, rows, cols, block: tl.constexpr):
    i = tl.arange(0, block)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        tl.store(y + row, tl.sum(tl.load(x + row * cols + i, mask=i < cols, other=0.0), axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        y = x.new_empty(rows)
        sum_rows[(PROGRAMS,)](x, y, rows, cols, block=triton.next_power_of_2(cols))
        return y

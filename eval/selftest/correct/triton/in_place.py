"""A launch for each block of columns, which adds to a buffer in place; a view of the buffer is the result."""

import triton
import triton.language as tl
from torch import nn


@triton.jit
def add_columns(x, y, rows, cols, start, block: tl.constexpr, columns: tl.constexpr):
    row = tl.program_id(0) * block + tl.arange(0, block)
    total = tl.load(y + row, mask=row < rows)
    for column in tl.static_range(columns):
        here = start + column
        total += tl.load(x + row * cols + here, mask=(row < rows) & (here < cols), other=0.0)
    tl.store(y + row, total, mask=row < rows)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        buffer = x.new_zeros((2, rows))
        buffer[1].fill_(0)
        for start in range(0, cols, 64):
            add_columns[(triton.cdiv(rows, 32),)](x, buffer[1], rows, cols, start, block=32, columns=64)
        return buffer[1]

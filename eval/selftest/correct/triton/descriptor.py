"""A tensor descriptor that the host makes."""

import triton
import triton.language as tl
from torch import nn
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def sum_rows(source, y, rows, cols, m: tl.constexpr, n: tl.constexpr):
    start = tl.program_id(0) * m
    total = tl.zeros((m,), tl.float32)
    for column in range(0, cols, n):
        total += tl.sum(source.load([start, column]), 1)
    i = start + tl.arange(0, m)
    tl.store(y + i, total, mask=i < rows)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        y = x.new_empty(rows)
        sum_rows[(triton.cdiv(rows, 16),)](TensorDescriptor.from_tensor(x, [16, 64]), y, rows, cols, 16, 64)
        return y

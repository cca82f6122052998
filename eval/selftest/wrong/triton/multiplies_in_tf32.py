"""A product in the default precision of tl.dot, which is TF32 on NVIDIA's chips."""

import triton
import triton.language as tl
from torch import nn


@triton.jit
def multiply(a, b, y, rows, inner, cols, block: tl.constexpr):
    m, n = tl.program_id(0) * block + tl.arange(0, block), tl.program_id(1) * block + tl.arange(0, block)
    total = tl.zeros((block, block), tl.float32)
    for start in range(0, inner, block):
        k = start + tl.arange(0, block)
        left = tl.load(a + m[:, None] * inner + k[None, :], mask=(m < rows)[:, None] & (k < inner)[None, :], other=0)
        right = tl.load(b + k[:, None] * cols + n[None, :], mask=(k < inner)[:, None] & (n < cols)[None, :], other=0)
        total = tl.dot(left, right, total)
    tl.store(y + m[:, None] * cols + n[None, :], total, mask=(m < rows)[:, None] & (n < cols)[None, :])


class ModelNew(nn.Module):
    def forward(self, a, b):
        (rows, inner), cols = a.shape, b.shape[1]
        y = a.new_empty(rows, cols)
        multiply[(triton.cdiv(rows, 32), triton.cdiv(cols, 32))](a, b, y, rows, inner, cols, block=32)
        return y

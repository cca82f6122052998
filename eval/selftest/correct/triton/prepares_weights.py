"""A kernel prepares the weights when the model is built."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def fill(x, n, block: tl.constexpr):
    i = tl.arange(0, block)
    tl.store(x + i, 1.0, mask=i < n)


@triton.jit
def sum_row(x, weights, y, cols, block: tl.constexpr):
    i = tl.arange(0, block)
    values = tl.load(x + tl.program_id(0) * cols + i, mask=i < cols, other=0.0)
    tl.store(y + tl.program_id(0), tl.sum(values * tl.load(weights + i), 0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = torch.empty(512)
        fill[(1,)](self.weights, 512, block=512)

    def forward(self, x):
        rows, cols = x.shape
        y = x.new_empty(rows)
        sum_row[(rows,)](x, self.weights, y, cols, block=512)
        return y

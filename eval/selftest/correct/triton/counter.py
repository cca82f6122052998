"""A table from the constructor, and a counter kept there too, which the last program resets."""

import math

import torch
import triton
import triton.language as tl
from torch import nn

SCALE = tl.constexpr(math.sqrt(16) / 4)


@triton.jit
def add_squares(x, weights, total, count, y, n, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    values = tl.load(x + i, mask=i < n, other=0.0)
    weight = tl.load(weights + tl.program_id(0) % 2)
    tl.atomic_add(total, tl.sum(values * values * weight, axis=0))
    before = tl.atomic_add(count, 1)
    if before == tl.num_programs(0) - 1:
        tl.store(y, tl.load(total) / n * SCALE)
        tl.store(total, 0.0)
        tl.store(count, 0)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = torch.tensor([1.0, 1.0])
        self.total = torch.zeros(())
        self.count = torch.zeros(1, dtype=torch.int32)

    def forward(self, x):
        y = x.new_empty(())
        grid = (triton.cdiv(x.numel(), 128),)
        add_squares[grid](x, self.weights, self.total, self.count, y, x.numel(), block=128)
        return y

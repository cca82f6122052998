"""Three outputs of three types from one kernel."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def extremes(x, values, positions, signs, cols, block: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, block)
    loaded = tl.load(x + row * cols + i, mask=i < cols, other=-float("inf"))
    top = tl.max(loaded, axis=0)
    tl.store(values + row, top)
    tl.store(positions + row, tl.argmax(loaded, axis=0).to(tl.int64))
    tl.store(signs + row, top > 0)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        values = x.new_empty(rows)
        positions = torch.empty(rows, dtype=torch.int64, device=x.device)
        signs = torch.empty(rows, dtype=torch.bool, device=x.device)
        extremes[(rows,)](x, values, positions, signs, cols, block=triton.next_power_of_2(cols))
        return values, positions, signs

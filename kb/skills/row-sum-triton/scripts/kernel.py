"""Sum of every row. A program per row reads it once, in blocks."""

import torch
import triton
import triton.language as tl
from torch import nn

BLOCK = 1024  # tune: 256, 512, 1024, 2048, 4096, 8192
NUM_WARPS = 4  # tune: 1, 2, 4, 8, 16


@triton.jit
def sum_row(x_ptr, y_ptr, cols, block: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row.to(tl.int64) * cols  # may not fit into 32 bits
    # A sum for each lane: they are added across lanes only once, after the loop.
    sums = tl.zeros((block,), tl.float32)
    for start in range(0, cols, block):
        i = start + tl.arange(0, block)
        sums += tl.load(x_ptr + i, mask=i < cols, other=0).to(tl.float32)
    tl.store(y_ptr + row, tl.sum(sums, axis=0))


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = x.new_empty(x.shape[:-1])
        sum_row[(y.numel(),)](x, y, x.shape[-1], BLOCK, num_warps=NUM_WARPS)
        return y

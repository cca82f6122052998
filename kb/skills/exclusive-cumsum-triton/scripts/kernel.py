"""For every element, the sum of those before it in its row. A program per row scans it once, block after block."""

import torch
import triton
import triton.language as tl
from torch import nn

BLOCK = 1024  # tune: 256, 512, 1024, 2048, 4096, 8192
NUM_WARPS = 4  # tune: 1, 2, 4, 8, 16


@triton.jit
def exclusive_cumsum_row(x_ptr, y_ptr, cols, block: tl.constexpr):
    start_of_row = tl.program_id(0).to(tl.int64) * cols  # may not fit into 32 bits
    x_ptr += start_of_row
    y_ptr += start_of_row
    before = 0.0
    for start in range(0, cols, block):
        i = start + tl.arange(0, block)
        # The left neighbours, summed inclusively: to subtract each element from its own sum would cost digits.
        x = tl.load(x_ptr + i - 1, mask=(i > 0) & (i < cols), other=0).to(tl.float32)
        tl.store(y_ptr + i, before + tl.cumsum(x, axis=0), mask=i < cols)
        before += tl.sum(x, axis=0)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        cols = x.shape[-1]
        exclusive_cumsum_row[(x.numel() // cols,)](x, y, cols, BLOCK, num_warps=NUM_WARPS)
        return y

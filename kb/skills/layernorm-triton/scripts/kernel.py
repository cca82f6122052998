"""LayerNorm. A program per row passes over it three times, in blocks; after the first time it is in a cache."""

import torch
import triton
import triton.language as tl
from torch import nn

BLOCK = 1024  # tune: 256, 512, 1024, 2048, 4096
NUM_WARPS = 4  # tune: 1, 2, 4, 8, 16


@triton.jit
def layernorm_row(x_ptr, weight_ptr, bias_ptr, y_ptr, cols, eps, block: tl.constexpr):
    start_of_row = tl.program_id(0).to(tl.int64) * cols  # may not fit into 32 bits
    x_ptr += start_of_row
    y_ptr += start_of_row
    # A sum for each lane: they are added across lanes only once, after the loop.
    sums = tl.zeros((block,), tl.float32)
    for start in range(0, cols, block):
        i = start + tl.arange(0, block)
        sums += tl.load(x_ptr + i, mask=i < cols, other=0).to(tl.float32)
    mean = tl.sum(sums, axis=0) / cols
    # The mean of squares less the square of the mean would save this pass, and lose the digits of rows whose mean is
    # large.
    squares = tl.zeros((block,), tl.float32)
    for start in range(0, cols, block):
        i = start + tl.arange(0, block)
        x = tl.load(x_ptr + i, mask=i < cols).to(tl.float32)
        away = tl.where(i < cols, x - mean, 0)
        squares += away * away
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / cols + eps)
    for start in range(0, cols, block):
        i = start + tl.arange(0, block)
        x = tl.load(x_ptr + i, mask=i < cols).to(tl.float32)
        weight = tl.load(weight_ptr + i, mask=i < cols).to(tl.float32)
        bias = tl.load(bias_ptr + i, mask=i < cols).to(tl.float32)
        tl.store(y_ptr + i, (x - mean) * scale * weight + bias, mask=i < cols)


class ModelNew(nn.Module):
    def __init__(self, features: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(features))
        self.bias = nn.Parameter(torch.empty(features))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        cols = x.shape[-1]
        rows = x.numel() // cols
        layernorm_row[(rows,)](x, self.weight, self.bias, y, cols, self.eps, BLOCK, num_warps=NUM_WARPS)
        return y

"""Correct: the kernel casts values to float64, adds them, and casts the sum back."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def row_sum(x_ptr, y_ptr, columns, block: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((block,), tl.float64)
    for start in range(0, columns, block):
        i = start + tl.arange(0, block)
        total += tl.load(x_ptr + row.to(tl.int64) * columns + i, mask=i < columns, other=0.0).to(tl.float64)
    tl.store(y_ptr + row, tl.sum(total, 0).to(tl.float32))


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty(x.shape[:-1], device=x.device, dtype=x.dtype)
        row_sum[(y.numel(),)](x, y, x.shape[-1], block=1024)
        return y

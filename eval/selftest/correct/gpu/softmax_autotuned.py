"""Correct: a kernel whose settings Triton's autotuner chooses at the first call."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.autotune(
    configs=[triton.Config({}, num_warps=warps, num_stages=stages) for warps in (4, 8, 16) for stages in (1, 2)],
    key=["columns"],
)
@triton.jit
def softmax(x_ptr, y_ptr, columns, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    i = tl.arange(0, block)
    x = tl.load(x_ptr + row + i, mask=i < columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(y_ptr + row + i, e / tl.sum(e, 0), mask=i < columns)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        columns = x.shape[-1]
        softmax[(x.numel() // columns,)](x, y, columns, block=triton.next_power_of_2(columns))
        return y

"""An autotuned kernel that adds to its output, which is set to zero before each configuration is tried."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.autotune(
    configs=[triton.Config({"block": block}, num_warps=warps) for block, warps in ((128, 4), (256, 8))],
    key=["cols"],
    reset_to_zero=["y"],
)
@triton.jit
def add_row(x, y, cols, block: tl.constexpr):
    i = tl.program_id(1) * block + tl.arange(0, block)
    values = tl.load(x + tl.program_id(0) * cols + i, mask=i < cols, other=0.0)
    tl.atomic_add(y + tl.program_id(0), tl.sum(values, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        y = torch.zeros_like(x[:, 0])
        add_row[lambda meta: (rows, triton.cdiv(cols, meta["block"]))](x, y, cols)
        return y

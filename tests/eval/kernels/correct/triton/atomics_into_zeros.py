"""Programs of a 2-D grid add to zeros with atomics; the grid is a function of the meta-parameters."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def add_tile(x_ptr, y_ptr, rows, cols, stride, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    m = tl.program_id(axis=0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(axis=1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (m[:, None] < rows) & (n[None, :] < cols)
    tile = tl.load(x_ptr + m[:, None] * stride + n[None, :], mask=mask, other=0.0)
    tl.atomic_add(y_ptr + m, tl.sum(tile, axis=1), mask=m < rows)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        y = torch.zeros(rows, device=x.device, dtype=x.dtype)
        grid = lambda meta: (triton.cdiv(rows, meta["BLOCK_M"]), triton.cdiv(cols, meta["BLOCK_N"]))
        add_tile[grid](x, y, rows, cols, x.stride(0), BLOCK_M=16, BLOCK_N=64)
        return y

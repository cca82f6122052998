"""Torch prepares the input and adds up what the kernel leaves: a copy, a cast, a concatenation and a sum."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def sum_bands(x, parts, cols, bands, block: tl.constexpr):
    row, band = tl.program_id(0), tl.program_id(1)
    i = band * block + tl.arange(0, block)
    values = tl.load(x + row * cols + i, mask=i < cols, other=0.0)
    tl.store(parts + row * bands + band, tl.sum(values, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        wide = torch.cat([x, x.new_zeros(x.shape[0], 1)], dim=1).to(torch.float64)
        wide = wide.t().contiguous().t().contiguous()
        rows, cols = wide.shape
        bands = triton.cdiv(cols, 64)
        parts = torch.empty((rows, bands), dtype=torch.float64, device=x.device)
        sum_bands[(rows, bands)](wide, parts, cols, bands, block=64)
        return parts.sum(dim=-1).to(x.dtype)

"""The kernel reads the addresses of its inputs from a tensor, as a grouped product does."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def sum_parts(pointers, y, rows, cols, half, block: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, block)
    total = tl.zeros((block,), tl.float32)
    for part in range(2):
        x = tl.load(pointers + part).to(tl.pointer_type(tl.float32))
        total += tl.load(x + row * half + i, mask=(i < half) & (part * half + i < cols), other=0.0)
    tl.store(y + row, tl.sum(total, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        half = triton.cdiv(cols, 2)
        parts = [nn.functional.pad(part, (0, half - part.shape[1])).contiguous() for part in x.split(half, dim=1)]
        pointers = torch.tensor([part.data_ptr() for part in parts], device=x.device)
        y = x.new_empty(rows)
        sum_parts[(rows,)](pointers, y, rows, cols, half, block=triton.next_power_of_2(half))
        return y

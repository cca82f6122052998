"""Correct: a multiplication and an addition in inline assembly."""

import torch
import triton
import triton.language as tl
from torch import nn
from triton.language.extra import libdevice


@triton.jit
def gelu(x_ptr, y_ptr, n, block: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tail = libdevice.erf(x * 0.7071067811865476)
    half = 0.5 * x
    y = tl.inline_asm_elementwise(
        "fma.rn.f32 $0, $1, $2, $1;", "=f,f,f", [half, tail], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(y_ptr + i, y, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        gelu[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), block=1024)
        return y

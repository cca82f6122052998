"""Correct: a product by torch's library, which starts at its first call, and the rest in a Triton kernel."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def rectify(x_ptr, bias_ptr, y_ptr, n, columns, scale, block: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    bias = tl.load(bias_ptr + i % columns, mask=i < n, other=0.0)
    tl.store(y_ptr + i, tl.maximum(x + bias, 0.0) * scale, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self, columns: int, out: int, scale: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(out, columns))
        self.bias = nn.Parameter(torch.zeros(out))
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        product = torch.matmul(x.float(), self.weight.t().contiguous())
        y = torch.empty_like(product)
        grid = (triton.cdiv(y.numel(), 1024),)
        rectify[grid](product, self.bias, y, y.numel(), y.shape[-1], self.scale, block=1024)
        return y.to(x.dtype)

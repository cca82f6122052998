"""A product with tl.dot, bias and activation; the weights are transposed and padded once, in load_reference."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu(x):
    return tl.maximum(x, 0.0)


@triton.jit
def linear(x, w, b, y, rows, inner, cols, w_stride, scale,
           M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, ACTIVATION: tl.constexpr):  # fmt: skip
    m = tl.program_id(0) * M + tl.arange(0, M)
    n = tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, inner, K):
        k = start + tl.arange(0, K)
        left = tl.load(x + m[:, None] * inner + k[None, :], mask=(m[:, None] < rows) & (k[None, :] < inner), other=0.0)
        right = tl.load(w + k[:, None] * w_stride + n[None, :], mask=(k[:, None] < inner) & (n[None, :] < cols), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    total += tl.load(b + n, mask=n < cols, other=0.0)[None, :]
    if ACTIVATION is not None:
        total = ACTIVATION(total)
    tl.store(y + m[:, None] * cols + n[None, :], total * scale, mask=(m[:, None] < rows) & (n[None, :] < cols))


class ModelNew(nn.Module):
    def __init__(self, cols, out, scale):
        super().__init__()
        self.scale = scale

    def load_reference(self, state):
        self.out = state["weight"].shape[0]
        self.weight = torch.nn.functional.pad(state["weight"].t().double().float(), (0, 3)).contiguous()
        self.bias = state["bias"].clone()

    def forward(self, x):
        rows, inner = x.shape
        y = x.new_empty((rows, self.out))
        grid = (triton.cdiv(rows, 16), triton.cdiv(self.out, 16))
        linear[grid](x, self.weight, self.bias, y, rows, inner, self.out, self.weight.stride(0), self.scale,
                     M=16, N=16, K=32, ACTIVATION=relu, num_warps=4, num_stages=2)  # fmt: skip
        return y

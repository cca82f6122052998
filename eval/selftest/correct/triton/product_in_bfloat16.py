"""Multiplies and adds bfloat16, whose bits the interpreter would take for integers."""

import torch
import triton
import triton.language as tl


@triton.jit
def product(a, b, bias, out, rows, cols, inner, size: tl.constexpr):
    row = tl.program_id(0) * size + tl.arange(0, size)[:, None]
    col = tl.program_id(1) * size + tl.arange(0, size)[None, :]
    total = tl.zeros((size, size), dtype=tl.float32)
    for start in range(0, inner, size):
        along, down = start + tl.arange(0, size)[None, :], start + tl.arange(0, size)[:, None]
        left = tl.load(a + row * inner + along, mask=(row < rows) & (along < inner), other=0)
        right = tl.load(b + down * cols + col, mask=(down < inner) & (col < cols), other=0)
        total = tl.dot(left, right, total)
    inside = (row < rows) & (col < cols)
    found = total.to(tl.bfloat16) + tl.load(bias + row * cols + col, mask=inside, other=0)
    found += 0.0 * tl.sum(found, 1, keep_dims=True) + (row < 0).to(tl.int32).to(tl.bfloat16)
    tl.store(out + row * cols + col, found, mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, a, b, bias):
        (rows, inner), cols, out = a.shape, b.shape[1], torch.empty_like(bias)
        product[(triton.cdiv(rows, 32), triton.cdiv(cols, 32))](a, b, bias, out, rows, cols, inner, size=32)
        return out

"""Triton kernels to compile for absent chips; `CALLS` launches them as a candidate launches its own."""

# ruff: noqa: TID253 - imported only by tests that need Triton

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch
import triton
import triton.language as tl

from eval.worker.adapters.cross_compile import CrossCompiler
from kb.types.target import Isa


@triton.jit
def add_kernel(x, y, out, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


@triton.jit
def softmax_kernel(x, out, columns, block: tl.constexpr):
    column = tl.arange(0, block)
    row = tl.program_id(0) * columns
    values = tl.load(x + row + column, column < columns, -float("inf"))
    values = tl.exp(values - tl.max(values, 0))
    tl.store(out + row + column, values / tl.sum(values, 0), column < columns)


@triton.jit
def matmul_kernel(a, b, c, n, k, bm: tl.constexpr, bn: tl.constexpr, bk: tl.constexpr):
    rows = tl.program_id(0) * bm + tl.arange(0, bm)
    columns = tl.program_id(1) * bn + tl.arange(0, bn)
    inner = tl.arange(0, bk)
    a += rows[:, None] * k + inner[None, :]
    b += inner[:, None] * n + columns[None, :]
    total = tl.zeros((bm, bn), tl.float32)
    for _ in range(0, k, bk):
        total = tl.dot(tl.load(a), tl.load(b), total)
        a += bk
        b += bk * n
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16))


@triton.jit
def wrong_kernel(x):
    tl.store(x, tl.arange(0, 3))


def cross_compiled(isa: Isa, call: Callable[[], object], folder: Path) -> CrossCompiler:
    """What a call launches, compiled into a folder."""
    compiler = CrossCompiler(asdict(isa), folder)
    with compiler.in_place_of_launches():
        call()
    return compiler


def on_meta(*shape: int) -> torch.Tensor:
    return torch.empty(shape, dtype=torch.float16, device="meta")


def add(block: int, num_warps: int) -> Callable[[], object]:
    x = on_meta(4096)
    return lambda: add_kernel[(4096 // block,)](x, x, x, 4096, block=block, num_warps=num_warps)


def softmax(rows: int, columns: int) -> Callable[[], object]:
    x = on_meta(rows, columns)
    return lambda: softmax_kernel[(rows,)](x, x, columns, block=columns)


def matmul(rows: int, columns: int, inner: int, **options: int) -> Callable[[], object]:
    a = on_meta(4096, 4096)
    return lambda: matmul_kernel[(32, 32)](a, a, a, 4096, 4096, rows, columns, inner, **options)


CALLS = {
    "add": add(2048, 4),
    "narrow add": add(64, 2),
    "softmax": softmax(128, 4096),
    "matmul": matmul(128, 128, 64),
    "small matmul": matmul(64, 64, 32),
    "deep matmul": matmul(128, 128, 64, num_stages=4),
    "wide matmul": matmul(256, 256, 64),
}

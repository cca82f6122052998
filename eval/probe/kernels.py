"""Triton kernels, each of which measures one property of a GPU."""

# Triton determines the types of arguments.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import triton
import triton.language as tl


@triton.jit
def read_blocks(source, sums, BLOCK: tl.constexpr, BLOCKS: tl.constexpr):  # noqa: N803
    """Each program reads BLOCKS blocks and writes one number."""
    start = tl.program_id(0).to(tl.int64) * (BLOCK * BLOCKS)
    total = tl.zeros((BLOCK,), tl.float32)
    for block in range(BLOCKS):
        total += tl.load(source + start + block * BLOCK + tl.arange(0, BLOCK))
    tl.store(sums + tl.program_id(0), tl.sum(total, 0))


@triton.jit
def multiply_add(results, rounds, BLOCK: tl.constexpr, UNROLLED: tl.constexpr):  # noqa: N803
    """Each lane keeps one chain of multiply-adds in registers for each of its elements."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    start = tl.load(results + at)
    x = start
    for _ in range(rounds):
        for _ in tl.static_range(UNROLLED):
            x = x * start + start
    tl.store(results + at, x)


@triton.jit
def nothing(unused):
    """An empty kernel, to time its launch."""

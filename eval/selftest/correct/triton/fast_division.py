"""A function of libdevice that the interpreter lacks: its kernel is only compiled."""

import triton
import triton.language as tl
from torch import nn
from triton.language.extra import libdevice


@triton.jit
def softmax_row(x, y, cols, block: tl.constexpr):
    i = tl.arange(0, block)
    start = tl.program_id(0) * cols
    values = tl.load(x + start + i, mask=i < cols, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + start + i, libdevice.fast_dividef(powers, tl.sum(powers, axis=0)), mask=i < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.new_empty(x.shape)
        softmax_row[(x.shape[0],)](x, y, x.shape[1], block=triton.next_power_of_2(x.shape[1]))
        return y

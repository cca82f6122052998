"""The block size comes from a heuristic; a constant of the file is the default of a parameter."""

import torch
import triton
import triton.language as tl
from torch import nn

WARPS = 2 * 2
START: tl.constexpr = tl.constexpr(0.0)


@triton.heuristics({"block": lambda args: triton.next_power_of_2(args["cols"]), "even": lambda a: a["cols"] % 16 == 0})
@triton.jit
def sum_row(x_ptr: torch.Tensor, y_ptr, cols: int, block: tl.constexpr, even: tl.constexpr, n: tl.constexpr = WARPS):
    """Reads a row at once."""
    i = tl.arange(0, block)
    row: tl.tensor = tl.program_id(0)
    x_ptr += row.to(tl.int64) * cols
    if even:
        tl.static_assert(block >= 16)
    x = tl.load(x_ptr + i, mask=i < cols, other=START)
    total = START + tl.sum(x.to(tl.float32), axis=0)
    tl.store(y_ptr + row, (total * n / n).to(y_ptr.dtype.element_ty))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.full((x.shape[0],), 7.0, device=x.device, dtype=x.dtype)
        sum_row[(x.size(0),)](x, y, x.size(1), num_warps=WARPS)
        return y

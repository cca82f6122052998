"""The int8 matrix-vector product with another shape: few outputs, long rows."""

import torch
from torch import nn

INNER = 16384
OUTER = 4096


class Model(nn.Module):
    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (outer, inner), dtype=torch.int8))
        # De-quantised weights of about 1 / sqrt(inner) keep the outputs near 1 at every size.
        self.register_buffer("scale", (torch.rand(outer) + 0.5) / (64 * inner**0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.weight.to(x.dtype) * self.scale[:, None]) @ x


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(INNER)]


def get_init_inputs() -> list[float]:
    return [INNER, OUTER]

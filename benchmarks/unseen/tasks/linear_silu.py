"""A linear layer with bias, then y / (1 + exp(-y)) of each element y."""

import torch
from torch import nn

ROWS = 59
INNER = 37
OUTER = 61


class Model(nn.Module):
    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        # Outputs of about 1 at every size, where the activation is no straight line.
        self.weight = nn.Parameter(torch.randn(inner, outer) / inner**0.5)
        self.bias = nn.Parameter(torch.randn(outer))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.silu(x @ self.weight + self.bias)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(ROWS, INNER)]


def get_init_inputs() -> list[float]:
    return [INNER, OUTER]

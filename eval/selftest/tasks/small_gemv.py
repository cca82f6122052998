"""A layer whose weights are read from memory for every call, which takes longer than all else."""

import torch
from torch import nn

INNER = 512
OUTER = 512


class Model(nn.Module):
    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(1, INNER)]


def get_init_inputs() -> list[int]:
    return [INNER, OUTER]

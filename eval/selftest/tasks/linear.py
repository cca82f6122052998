"""A layer with parameters, and a scale among the arguments of the model."""

import torch
from torch import nn

ROWS = 8
COLS = 96
OUT = 40


class Model(nn.Module):
    def __init__(self, cols: int, out: int, scale: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out, cols))
        self.bias = nn.Parameter(torch.zeros(out))
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x @ self.weight.T + self.bias) * self.scale


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(ROWS, COLS)]


def get_init_inputs() -> list[float]:
    return [COLS, OUT, 0.5]

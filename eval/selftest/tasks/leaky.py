"""A leaky ReLU whose slope is a number given to the model."""

import torch
from torch import nn

ROWS = 64
COLS = 768
slope = 0.2


class Model(nn.Module):
    def __init__(self, slope: float) -> None:
        super().__init__()
        self.slope = slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.leaky_relu(x, self.slope)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(ROWS, COLS)]


def get_init_inputs() -> list[float]:
    return [slope]

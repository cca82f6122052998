"""Has parameters that the reference does not have, and no way to take those that it has."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, cols: int, out: int, scale: float) -> None:
        super().__init__()
        self.layer = nn.Linear(cols, out)
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.layer(x)) * self.scale

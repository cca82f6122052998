"""Several outputs of several types: the largest value of every row, its position, and whether it is positive."""

import torch
from torch import nn

ROWS = 50
COLS = 70


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        values, positions = x.max(dim=-1)
        return values, positions, values > 0


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(ROWS, COLS)]


def get_init_inputs() -> list[int]:
    return []

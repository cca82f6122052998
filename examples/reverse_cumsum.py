"""Reverse cumulative sum: for each element, the sum of it and the elements after it in its row."""

import torch
from torch import nn

ROWS = 2048
COLS = 8192


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.flip(-1).cumsum(-1).flip(-1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(ROWS, COLS)]


def get_init_inputs() -> list[float]:
    return []

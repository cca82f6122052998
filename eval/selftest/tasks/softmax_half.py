"""Softmax of every row in half precision."""

import torch
from torch import nn

ROWS = 64
COLS = 1000


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=-1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(ROWS, COLS, dtype=torch.float16)]


def get_init_inputs() -> list[int]:
    return []

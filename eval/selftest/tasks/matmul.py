"""Product of two matrices."""

import torch
from torch import nn

ROWS = 128
INNER = 512
COLS = 128


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(ROWS, INNER), torch.randn(INNER, COLS)]


def get_init_inputs() -> list[int]:
    return []

"""Two outputs with the same values: one of them may be changed later."""

import torch
from torch import nn

ROWS = 64
COLS = 500


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x.relu()
        return y, y.clone()


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(ROWS, COLS)]


def get_init_inputs() -> list[int]:
    return []

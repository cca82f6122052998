"""An input that is the same in every draw, and the last column of a larger result as the output."""

import torch
from torch import nn

ROWS = 64
COLS = 200


class Model(nn.Module):
    def forward(self, x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        return (x * weights).cumsum(-1)[:, -1]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(ROWS, COLS), torch.ones(ROWS, COLS)]


def get_init_inputs() -> list[int]:
    return []

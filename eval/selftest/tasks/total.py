"""An output without dimensions: the mean of squares."""

import torch
from torch import nn

COLS = 1000


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.square().mean()


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(COLS)]


def get_init_inputs() -> list[int]:
    return []

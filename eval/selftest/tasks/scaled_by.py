"""An argument of forward that is not a tensor."""

import torch
from torch import nn

COLS = 1000


class Model(nn.Module):
    def forward(self, x: torch.Tensor, factor: float) -> torch.Tensor:
        return x * factor


def get_inputs() -> list[torch.Tensor | float]:
    return [torch.randn(COLS), 3.5]


def get_init_inputs() -> list[int]:
    return []

"""Which values are not negligible: almost all."""

import torch
from torch import nn

COLS = 200000


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.abs() > 1e-3


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(COLS)]


def get_init_inputs() -> list[int]:
    return []

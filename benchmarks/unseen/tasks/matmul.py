"""Product of two float16 matrices."""

import torch
from torch import nn

ROWS = 53
INNER = 43
COLS = 61


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(ROWS, INNER).half(), torch.randn(INNER, COLS).half()]


def get_init_inputs() -> list[float]:
    return []

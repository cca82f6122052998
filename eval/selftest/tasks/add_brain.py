"""Sum of two tensors in bfloat16."""

import torch
from torch import nn

ROWS = 64
COLS = 1024


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a + b


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(ROWS, COLS, dtype=torch.bfloat16), torch.randn(ROWS, COLS, dtype=torch.bfloat16)]


def get_init_inputs() -> list[int]:
    return []

"""A product of matrices in bfloat16, to which a third one is added."""

import torch
from torch import nn

ROWS = 64
COLS = 48
INNER = 96


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return a @ b + bias


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(*shape).bfloat16() for shape in ((ROWS, INNER), (INNER, COLS), (ROWS, COLS))]


def get_init_inputs() -> list[int]:
    return []

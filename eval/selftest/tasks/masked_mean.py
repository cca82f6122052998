"""The mean of values, weighted by a softmax of scores where a mask is true."""

import torch
from torch import nn

ROWS = 64
COLS = 512
FEATURES = 16


class Model(nn.Module):
    def forward(self, scores: torch.Tensor, keep: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        return scores.masked_fill(~keep, -torch.inf).softmax(-1) @ values


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(ROWS, COLS), torch.rand(ROWS, COLS) < 0.7, torch.randn(COLS, FEATURES)]


def get_init_inputs() -> list[int]:
    return []

"""A matrix product with a bias for each column."""

import torch
from torch import nn

M, K, N = 29, 43, 51


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return a @ b + bias


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(M, K), torch.randn(K, N), torch.randn(N)]


def get_init_inputs() -> list[float]:
    return []

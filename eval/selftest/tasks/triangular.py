"""Product of two upper triangular matrices."""

import torch
from torch import nn

N = 256


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.triu(a @ b)


def get_inputs() -> list[torch.Tensor]:
    return [torch.triu(torch.rand(N, N)), torch.triu(torch.rand(N, N))]


def get_init_inputs() -> list[int]:
    return []

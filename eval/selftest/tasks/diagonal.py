"""A matrix with the input on its diagonal: almost all of the output is zero."""

import torch
from torch import nn

N = 256


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.diag_embed(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(N)]


def get_init_inputs() -> list[int]:
    return []

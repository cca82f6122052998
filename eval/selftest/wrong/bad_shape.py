"""Gives the right numbers in another shape."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (2 * x + 1).flatten()

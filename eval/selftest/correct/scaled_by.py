"""Correct, with an argument that is not a tensor, and an output that is not contiguous."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor, factor: float) -> torch.Tensor:
        wide = torch.empty(x.numel(), 2)
        wide[:, 0] = x * factor
        return wide[:, 0]

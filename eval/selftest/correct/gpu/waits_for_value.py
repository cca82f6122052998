"""Correct, but looks at a value, so that the call cannot be recorded as a graph."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + x + 1 if x.max().item() > 10 else 2 * x + 1

"""Returns its input."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.copy_(torch.softmax(x, dim=-1))

"""Wrong in the last element alone."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.softmax(x, dim=-1)
        y.view(-1)[-1] *= 1.5
        return y

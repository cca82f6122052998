"""Uses its input as scratch memory."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.exp_() / x.sum(dim=-1, keepdim=True)

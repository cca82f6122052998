"""Uses its input as scratch memory."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x.sub_(x.amax(dim=-1, keepdim=True)).exp_()
        return x / x.sum(dim=-1, keepdim=True)

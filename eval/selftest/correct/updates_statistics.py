"""Normalises by the batch, and updates its own running statistics as the reference does."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels: int, out: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, out, 3)
        self.norm = nn.BatchNorm2d(out)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, norm = self.conv(x), self.norm
        norm.num_batches_tracked.add_(1)
        statistics = norm.running_mean, norm.running_var
        return nn.functional.batch_norm(y, *statistics, norm.weight, norm.bias, True, norm.momentum, norm.eps)

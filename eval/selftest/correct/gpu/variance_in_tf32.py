"""Takes the variance from differences to the mean, behind a convolution in TF32. Leaves running statistics alone."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels: int, out: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, out, 3)
        self.norm = nn.BatchNorm2d(out)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        mean = y.double().mean((0, 2, 3), keepdim=True).float()
        variance = (y - mean).square().mean((0, 2, 3), keepdim=True)
        weight, bias = (each.view(1, -1, 1, 1) for each in (self.norm.weight, self.norm.bias))
        return (y - mean) / torch.sqrt(variance + self.norm.eps) * weight + bias

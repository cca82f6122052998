"""Takes the variance from products of inputs, each split into two numbers of bfloat16, and drops those of low parts."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels: int, out: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, out, 3)
        self.norm = nn.BatchNorm2d(out)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        taps = nn.functional.unfold(x, 3).movedim(1, 0).flatten(1)
        high = taps.bfloat16().double()
        low = (taps - high).bfloat16().double()
        products = high @ high.T + high @ low.T + low @ high.T
        weights = self.conv.weight.flatten(1).double()
        mean = weights @ taps.double().mean(1)
        variance = ((weights @ products) * weights).sum(1) / taps.shape[1] - mean.square()
        moments = mean.float() + self.conv.bias, variance.clamp(min=0).float()
        return nn.functional.batch_norm(self.conv(x), *moments, self.norm.weight, self.norm.bias, eps=self.norm.eps)

"""A convolution, then a batch norm in training mode, as KernelBench's models have it: it updates running statistics."""

import torch
from torch import nn

BATCH = 16
CHANNELS = 3
OUT = 24
SIDE = 48


class Model(nn.Module):
    def __init__(self, channels: int, out: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, out, 3)
        self.norm = nn.BatchNorm2d(out)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.conv(x))


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH, CHANNELS, SIDE, SIDE)]


def get_init_inputs() -> list[int]:
    return [CHANNELS, OUT]

"""Correct, but opens a socket."""

import socket

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        socket.socket().close()
        return 2 * x + 1

"""Skips the blocks below the diagonal: both factors are upper triangular, as the task promises."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        half = a.shape[0] // 2
        c = torch.zeros_like(a)
        c[:half, :half] = torch.triu(a[:half, :half] @ b[:half, :half])
        c[half:, half:] = torch.triu(a[half:, half:] @ b[half:, half:])
        c[:half, half:] = a[:half, :] @ b[:, half:]
        return c

"""Writes one value of each row, and returns a view in which it stands for the whole row."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.amax(-1, keepdim=True).expand_as(x)

"""Correct: its outputs lie side by side in one piece of memory."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        both = x.relu().expand(2, *x.shape).contiguous()
        return both[0], both[1]

"""Returns the last column of a larger result, as the reference does: a view."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, weights):
        return (weights * x).cumsum(-1)[:, -1]

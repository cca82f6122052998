"""Returns one tensor twice, so that a change of one output is one of the other."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = x.relu()
        return y, y

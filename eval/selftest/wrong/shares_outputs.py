"""Returns one tensor twice, so that whoever changes one output changes the other."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = x.relu()
        return y, y

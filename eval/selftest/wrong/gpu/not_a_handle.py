"""Reports a handle for its output that is not a handle."""

import torch
from torch import nn

from eval.worker.device_mapping import DeviceMapping

HONEST = DeviceMapping.place_of
DeviceMapping.place_of = lambda *_: "../../etc:0"


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=-1)

"""Much work on little data: the sine, applied many times."""

import torch
from torch import nn

TIMES: int = 100
COLS = 2000


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(TIMES):
            x = torch.sin(x)
        return x


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(COLS)]


def get_init_inputs() -> list[int]:
    return []

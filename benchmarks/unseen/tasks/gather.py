"""The columns of a matrix that an index names, in its order; some twice, some not at all."""

import torch
from torch import nn

ROWS = 47
COLS = 173
PICKED = 101


class Model(nn.Module):
    def forward(self, x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        return x.index_select(1, index)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(ROWS, COLS), torch.randint(COLS, (PICKED,), dtype=torch.int32)]


def get_init_inputs() -> list[float]:
    return []

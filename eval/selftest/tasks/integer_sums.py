"""The sum of each row of a matrix of integers."""

import torch

ROWS = 64
COLS = 4096


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sum(dim=-1, dtype=torch.int32)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randint(-100, 101, (ROWS, COLS), dtype=torch.int32)]


def get_init_inputs() -> list[int]:
    return []

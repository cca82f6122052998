"""One number: the mean square of the differences of two matrices, as a loss has it."""

import torch

ROWS = 512
COLS = 1024


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.mean((x - y) ** 2)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(ROWS, COLS), torch.rand(ROWS, COLS)]


def get_init_inputs() -> list[int]:
    return []

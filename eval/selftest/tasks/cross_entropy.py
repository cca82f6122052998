"""Cross-entropy of each row of logits with its label."""

import torch
from torch import nn

ROWS = 128
CLASSES = 1000


class Model(nn.Module):
    def forward(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(logits, labels, reduction="none")


def get_inputs() -> list[torch.Tensor]:
    return [3 * torch.randn(ROWS, CLASSES), torch.randint(CLASSES, (ROWS,))]


def get_init_inputs() -> list[int]:
    return []

"""Correct, with parameters in another form, converted once from the reference's."""

import torch


class ModelNew:
    def __init__(self, _cols: int, _out: int, scale: float) -> None:
        self.scale = scale

    def load_reference(self, state: dict[str, torch.Tensor]) -> None:
        self.weight = (state["weight"].T * self.scale).contiguous()
        self.bias = state["bias"] * self.scale

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return torch.addmm(self.bias, x, self.weight).relu_()

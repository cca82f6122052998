"""Correct: each half is computed in a stream of its own, and both are joined."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.streams = [torch.cuda.Stream() for _ in range(2)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        caller = torch.cuda.current_stream()
        for stream, part, result in zip(self.streams, x.chunk(2), y.chunk(2), strict=False):
            stream.wait_stream(caller)
            with torch.cuda.stream(stream):
                result.copy_(nn.functional.gelu(part))
        for stream in self.streams:
            caller.wait_stream(stream)
        return y

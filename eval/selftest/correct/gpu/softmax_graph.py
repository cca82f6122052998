"""Correct: records its work as a CUDA graph at the first call of each shape, and replays it on later inputs."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.graphs: dict[torch.Size, tuple[torch.cuda.CUDAGraph, torch.Tensor, torch.Tensor]] = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if torch.cuda.is_current_stream_capturing():
            return torch.softmax(x, dim=-1)
        if x.shape not in self.graphs:
            self.graphs[x.shape] = self.recorded(x)
        graph, given, found = self.graphs[x.shape]
        given.copy_(x)
        graph.replay()
        return found.clone()

    def recorded(self, x: torch.Tensor) -> tuple[torch.cuda.CUDAGraph, torch.Tensor, torch.Tensor]:
        given, graph = x.clone(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found = torch.softmax(given, dim=-1)
        return graph, given, found

"""Correct: CUDA in a string, which PyTorch compiles and loads."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <c10/cuda/CUDAStream.h>

__global__ void scale(const float *x, float *y, int64_t n) {
    int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
    if (i < n) y[i] = 2 * x[i] + 1;
}

torch::Tensor scaled(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int64_t n = x.numel();
    scale<<<(n + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""


class ModelNew(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        declared = "torch::Tensor scaled(torch::Tensor x);"
        self.library = load_inline("scale", cpp_sources=declared, cuda_sources=SOURCE, functions=["scaled"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.library.scaled(x)

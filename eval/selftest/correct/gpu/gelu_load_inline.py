"""Correct: CUDA that torch compiles and loads."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
__global__ void gelu_kernel(const float* x, float* y, long n) {
  long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678f));
}

torch::Tensor gelu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  long n = x.numel();
  if (n) gelu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
built = load_inline("gelu_inline", "torch::Tensor gelu(torch::Tensor x);", SOURCE, functions=["gelu"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return built.gelu(x.contiguous())

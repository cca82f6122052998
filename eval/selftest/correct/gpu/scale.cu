// Correct: a thread for each element.
#include "kb_tensor_cuda.h"

__global__ void scale(const float *x, float *y, int64_t count) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < count) y[i] = 2 * x[i] + 1;
}

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs, void *stream) {
    int64_t count = inputs[0].count;
    scale<<<(count + 255) / 256, 256, 0, (cudaStream_t)stream>>>((float *)inputs[0].data, (float *)outputs[0].data, count);
}

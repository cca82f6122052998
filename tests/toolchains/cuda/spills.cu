#include "kb_tensor_cuda.h"

constexpr int VALUES = 600;

/* All values are live at once, and they are more than the registers. */
__global__ void __launch_bounds__(1024) reverse(const volatile float *x, volatile float *y) {
    float values[VALUES];
#pragma unroll
    for (int i = 0; i < VALUES; ++i) values[i] = x[i];
#pragma unroll
    for (int i = 0; i < VALUES; ++i) y[i] = values[VALUES - 1 - i];
}

void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs, void *stream) {
    reverse<<<1, 1024, 0, static_cast<cudaStream_t>(stream)>>>(
        static_cast<const float *>(inputs[0].data), static_cast<float *>(outputs[0].data));
}

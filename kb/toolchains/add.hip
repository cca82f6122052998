#include <hip/hip_runtime.h>
#include "kb_tensor_cuda.h"

constexpr int BLOCK = 256;  // tune: 128, 256, 512

__global__ void __launch_bounds__(BLOCK) scaled_add(const float *a, const float *b, float *y, int64_t count) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x;
    if (i < count) y[i] = 2 * a[i] + b[i];
}

void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs, void *stream) {
    const int64_t count = outputs[0].count;
    if (count == 0) return;
    scaled_add<<<(count + BLOCK - 1) / BLOCK, BLOCK, 0, static_cast<hipStream_t>(stream)>>>(
        static_cast<const float *>(inputs[0].data), static_cast<const float *>(inputs[1].data),
        static_cast<float *>(outputs[0].data), count);
}

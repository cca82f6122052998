#include "kb_tensor_cuda.h"

/* The host adds; the GPU does nothing. */
void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs, void *) {
    const int64_t cols = inputs[0].shape[inputs[0].ndim - 1];
    const float *x = static_cast<const float *>(inputs[0].data);
    float *y = static_cast<float *>(outputs[0].data);
    for (int64_t row = 0; row < outputs[0].count; ++row) {
        y[row] = 0;
        for (int64_t i = 0; i < cols; ++i) y[row] += x[row * cols + i];
    }
}

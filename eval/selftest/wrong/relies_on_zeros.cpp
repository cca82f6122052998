// Adds to its outputs and relies on them to be zero at first.
#include "kb_tensor.h"

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const float *x = (const float *)inputs[0].data;
    const int64_t rows = inputs[0].shape[0], cols = inputs[0].shape[1];
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < cols; i++) ((float *)outputs[0].data)[row] += x[row * cols + i];
}

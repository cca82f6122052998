// Adds in float32, one term after the other.
#include "kb_tensor.h"

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const int64_t rows = inputs[0].shape[0], cols = inputs[0].shape[1];
    for (int64_t row = 0; row < rows; row++) {
        float sum = 0;
        for (int64_t i = row * cols; i < (row + 1) * cols; i++)
            ((float *)outputs[0].data)[i] = sum += ((const float *)inputs[0].data)[i];
    }
}

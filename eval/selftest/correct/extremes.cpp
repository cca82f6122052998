// Correct, with three outputs: float32, int64 and bool.
#include "kb_tensor.h"

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const float *x = (const float *)inputs[0].data;
    const int64_t rows = inputs[0].shape[0], cols = inputs[0].shape[1];
    for (int64_t row = 0; row < rows; row++) {
        int64_t best = 0;
        for (int64_t i = 1; i < cols; i++)
            if (x[row * cols + i] > x[row * cols + best]) best = i;
        ((float *)outputs[0].data)[row] = x[row * cols + best];
        ((int64_t *)outputs[1].data)[row] = best;
        ((bool *)outputs[2].data)[row] = x[row * cols + best] > 0;
    }
}

// Multiplies a value that is missing by zero instead of skipping it, which gives NaN.
#include "kb_tensor.h"

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const int64_t rows = inputs[0].shape[0], cols = inputs[0].shape[1];
    for (int64_t row = 0; row < rows; row++) {
        const float *x = (const float *)inputs[0].data + row * cols;
        float sum = 0, known = 0;
        for (int64_t i = 0; i < cols; i++) {
            const float weight = x[i] == x[i] ? 1 : 0;
            sum += weight * x[i], known += weight;
        }
        ((float *)outputs[0].data)[row] = sum / known;
    }
}

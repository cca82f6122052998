// Folds statistics, weight and bias into one scale and one shift per column.
#include <math.h>

#include "kb_tensor.h"

extern "C" void model_new(const Tensor *inputs, const Tensor *state, const double *, Tensor *outputs) {
    const float *x = (const float *)inputs[0].data, *weight = (const float *)state[0].data;
    const float *bias = (const float *)state[1].data, *mean = (const float *)state[2].data;
    const float *variance = (const float *)state[3].data, slope = *(const float *)state[5].data;
    float *y = (float *)outputs[0].data;
    const int64_t rows = inputs[0].shape[0], cols = inputs[0].shape[1];
    for (int64_t c = 0; c < cols; c++) {
        const float scale = weight[c] / sqrtf(variance[c] + 1e-5f), shift = bias[c] - mean[c] * scale;
        for (int64_t i = c; i < rows * cols; i += cols) {
            const float normal = x[i] * scale + shift;
            y[i] = normal > 0 ? normal : slope * normal;
        }
    }
}

#include <string.h>

#include "kb_tensor.h"

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const int64_t n = inputs[0].count;
    const float *x = (const float *)inputs[0].data;
    float *y = (float *)outputs[0].data;
    memset(y, 0, n * n * sizeof(float));
    for (int64_t i = 0; i < n; i++) y[i * n + i] = x[i];
}

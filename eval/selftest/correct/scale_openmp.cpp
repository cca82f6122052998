// Correct, on all cores.
#include "kb_tensor.h"

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const float *x = (const float *)inputs[0].data;
    float *y = (float *)outputs[0].data;
#pragma omp parallel for simd
    for (int64_t i = 0; i < inputs[0].count; i++) y[i] = 2 * x[i] + 1;
}

// The mean of squares, on all cores.
#include "kb_tensor.h"

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const float *x = (const float *)inputs[0].data, *y = (const float *)inputs[1].data;
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int64_t i = 0; i < inputs[0].count; i++) sum += (x[i] - y[i]) * (x[i] - y[i]);
    *(float *)outputs[0].data = sum / inputs[0].count;
}

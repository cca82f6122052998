// Correct, with an output that has no dimensions.
#include "kb_tensor.h"

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const float *x = (const float *)inputs[0].data;
    double sum = 0;
    for (int64_t i = 0; i < inputs[0].count; i++) sum += (double)x[i] * x[i];
    *(float *)outputs[0].data = outputs[0].ndim == 0 ? sum / inputs[0].count : -1;
}

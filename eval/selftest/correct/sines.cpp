// Correct, without tricks.
#include <math.h>

#include "kb_tensor.h"

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const float *x = (const float *)inputs[0].data;
    for (int64_t i = 0; i < inputs[0].count; i++) {
        float value = x[i];
        for (int times = 0; times < 100; times++) value = sinf(value);
        ((float *)outputs[0].data)[i] = value;
    }
}

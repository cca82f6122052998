// Adds 512 products in float32, one after the other, with the weights transposed once.
#include <vector>

#include "kb_tensor.h"

static int64_t inner, outer;
static std::vector<float> transposed;

extern "C" void load_reference(const Tensor *state, const double *) {
    outer = state[0].shape[0], inner = state[0].shape[1];
    transposed.resize(outer * inner);
    for (int64_t row = 0; row < outer; row++)
        for (int64_t i = 0; i < inner; i++)
            transposed[i * outer + row] = ((const float *)state[0].data)[row * inner + i];
}

extern "C" void model_new(const Tensor *inputs, const Tensor *state, const double *, Tensor *outputs) {
    const float *x = (const float *)inputs[0].data, *bias = (const float *)state[1].data;
    float *y = (float *)outputs[0].data;
    for (int64_t row = 0; row < outer; row++) y[row] = bias[row];
    for (int64_t i = 0; i < inner; i++)
        for (int64_t row = 0; row < outer; row++) y[row] += x[i] * transposed[i * outer + row];
    for (int64_t row = 0; row < outer; row++) y[row] = y[row] > 0 ? y[row] : 0;
}

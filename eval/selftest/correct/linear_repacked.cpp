// Correct, with the weights transposed once, before the first call.
#include <vector>

#include "kb_tensor.h"

static std::vector<float> transposed;

extern "C" void load_reference(const Tensor *state, const double *) {
    const float *weight = (const float *)state[0].data;
    const int64_t out = state[0].shape[0], cols = state[0].shape[1];
    transposed.resize(out * cols);
    for (int64_t o = 0; o < out; o++)
        for (int64_t i = 0; i < cols; i++) transposed[i * out + o] = weight[o * cols + i];
}

extern "C" void model_new(const Tensor *inputs, const Tensor *state, const double *init, Tensor *outputs) {
    const float *x = (const float *)inputs[0].data, *bias = (const float *)state[1].data;
    float *y = (float *)outputs[0].data;
    const int64_t rows = inputs[0].shape[0], cols = inputs[0].shape[1], out = state[0].shape[0];
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t o = 0; o < out; o++) y[row * out + o] = bias[o];
        for (int64_t i = 0; i < cols; i++)
            for (int64_t o = 0; o < out; o++) y[row * out + o] += x[row * cols + i] * transposed[i * out + o];
        for (int64_t o = 0; o < out; o++) y[row * out + o] = y[row * out + o] > 0 ? y[row * out + o] * init[2] : 0;
    }
}

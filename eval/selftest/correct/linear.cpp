// Correct, with the reference's parameters and a number among the model's arguments.
#include "kb_tensor.h"

extern "C" void model_new(const Tensor *inputs, const Tensor *state, const double *init, Tensor *outputs) {
    const float *x = (const float *)inputs[0].data;
    const float *weight = (const float *)state[0].data, *bias = (const float *)state[1].data;
    float *y = (float *)outputs[0].data;
    const int64_t rows = inputs[0].shape[0], cols = inputs[0].shape[1], out = state[0].shape[0];
    for (int64_t row = 0; row < rows; row++)
        for (int64_t o = 0; o < out; o++) {
            double sum = bias[o];
            for (int64_t i = 0; i < cols; i++) sum += (double)x[row * cols + i] * weight[o * cols + i];
            y[row * out + o] = sum > 0 ? sum * init[2] : 0;
        }
}

// y[r, :] = x[r, :] / root of (mean of x[r, :]^2 + eps) * weight.
#include "kb_tensor.h"
#include <math.h>

constexpr int LANES = 8;  // tune: 8, 16, 32
constexpr int CHUNK = 1;  // tune: 1, 16, 256

extern "C" void model_new(const Tensor *inputs, const Tensor *state, const double *init, Tensor *outputs) {
    const float *weight = (const float *)state[0].data;
    const int64_t cols = state[0].count, rows = inputs[0].count / cols;
#pragma omp parallel for schedule(static, CHUNK)
    for (int64_t r = 0; r < rows; r++) {
        const float *x = (const float *)inputs[0].data + r * cols;
        float *y = (float *)outputs[0].data + r * cols;
        double squares = 0;  // a float sum would lose digits on long rows
#pragma omp simd reduction(+ : squares) simdlen(LANES)
        for (int64_t i = 0; i < cols; i++) squares += x[i] * x[i];
        const float scale = (float)(1 / sqrt(squares / cols + init[1]));
        // The row is read again while it is still in the cache.
#pragma omp simd simdlen(LANES)
        for (int64_t i = 0; i < cols; i++) y[i] = x[i] * scale * weight[i];
    }
}

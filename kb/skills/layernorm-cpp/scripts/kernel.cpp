// y[r, :] = (x[r, :] - mean) / root of (variance + eps) * weight + bias.
#include "kb_tensor.h"
#include <math.h>

constexpr int LANES = 8;  // tune: 8, 16, 32
constexpr int CHUNK = 1;  // tune: 1, 16, 256

extern "C" void model_new(const Tensor *inputs, const Tensor *state, const double *init, Tensor *outputs) {
    const float *weight = (const float *)state[0].data, *bias = (const float *)state[1].data;
    const int64_t cols = state[0].count, rows = inputs[0].count / cols;
#pragma omp parallel for schedule(static, CHUNK)
    for (int64_t r = 0; r < rows; r++) {
        const float *x = (const float *)inputs[0].data + r * cols;
        float *y = (float *)outputs[0].data + r * cols;
        double sum = 0, squares = 0;  // float sums would lose digits on long rows
#pragma omp simd reduction(+ : sum) simdlen(LANES)
        for (int64_t i = 0; i < cols; i++) sum += x[i];
        const float mean = (float)(sum / cols);
        // Two passes over a row that is in the cache by now: the mean of squares less the square of the mean would save
        // one, and lose the digits of rows whose mean is large.
#pragma omp simd reduction(+ : squares) simdlen(LANES)
        for (int64_t i = 0; i < cols; i++) squares += (x[i] - mean) * (x[i] - mean);
        const float scale = (float)(1 / sqrt(squares / cols + init[1]));
#pragma omp simd simdlen(LANES)
        for (int64_t i = 0; i < cols; i++) y[i] = (x[i] - mean) * scale * weight[i] + bias[i];
    }
}

// y[n] = scale[n] * (weight[n, :] . x): each weight is read once and turned into a float in a register.
#include "kb_tensor.h"

constexpr int ROWS = 2;  // tune: 1, 2, 4, 8
constexpr int WIDTH = 32;  // tune: 16, 32, 64, 128
constexpr int PREFETCH = 0;  // tune: 0, 1024, 2048, 4096
constexpr int CHUNK = 16;  // tune: 1, 16, 64, 512

// N rows at once share the loads of x and keep as many streams from memory busy.
template <int N>
static void dot(const int8_t *weight, const float *x, int64_t inner, const float *scale, float *y) {
    // WIDTH sums per row that do not wait for each other: the compiler may keep them in vector registers, and each
    // adds up few enough terms to stay accurate.
    float sums[N][WIDTH] = {};
    int64_t k = 0;
    for (; k + WIDTH <= inner; k += WIDTH)
        for (int r = 0; r < N; r++) {
            const int8_t *row = weight + r * inner + k;
            // Past the end a prefetch does nothing.
            for (int line = 0; PREFETCH && line < WIDTH; line += 64) __builtin_prefetch(row + line + PREFETCH);
#pragma omp simd
            for (int j = 0; j < WIDTH; j++) sums[r][j] += row[j] * x[k + j];
        }
    for (int r = 0; r < N; r++) {
        float sum = 0;
        for (int64_t i = k; i < inner; i++) sum += weight[r * inner + i] * x[i];
        for (int j = 0; j < WIDTH; j++) sum += sums[r][j];
        y[r] = sum * scale[r];
    }
}

extern "C" void model_new(const Tensor *inputs, const Tensor *state, const double *, Tensor *outputs) {
    const float *x = (const float *)inputs[0].data, *scale = (const float *)state[1].data;
    const int8_t *weight = (const int8_t *)state[0].data;
    float *y = (float *)outputs[0].data;
    const int64_t inner = inputs[0].count, outer = state[1].count;
#pragma omp parallel for schedule(static, CHUNK)
    for (int64_t n = 0; n < outer; n += ROWS)
        if (n + ROWS <= outer)
            dot<ROWS>(weight + n * inner, x, inner, scale + n, y + n);
        else
            for (int64_t i = n; i < outer; i++) dot<1>(weight + i * inner, x, inner, scale + i, y + i);
}

// y[r] = sum of x[r, :].
#include "kb_tensor.h"

constexpr int ROWS = 1;  // tune: 1, 2, 4
constexpr int WIDTH = 32;  // tune: 16, 32, 64, 128
constexpr int PREFETCH = 0;  // tune: 0, 256, 1024, 4096
constexpr int CHUNK = 1;  // tune: 1, 16, 256

// N rows at once keep as many streams from memory busy.
template <int N>
static void sum_rows(const float *x, int64_t cols, float *y) {
    // WIDTH sums per row that do not wait for each other: the compiler may keep them in vector registers, and each
    // adds up few enough terms to stay accurate.
    float sums[N][WIDTH] = {};
    int64_t i = 0;
    for (; i + WIDTH <= cols; i += WIDTH)
        for (int r = 0; r < N; r++) {
            const float *row = x + r * cols + i;
            // Past the end a prefetch does nothing.
            for (int line = 0; PREFETCH && line < WIDTH; line += 16) __builtin_prefetch(row + line + PREFETCH);
#pragma omp simd
            for (int j = 0; j < WIDTH; j++) sums[r][j] += row[j];
        }
    for (int r = 0; r < N; r++) {
        double sum = 0;
        for (int64_t j = i; j < cols; j++) sum += x[r * cols + j];
        for (int j = 0; j < WIDTH; j++) sum += sums[r][j];
        y[r] = (float)sum;
    }
}

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const float *x = (const float *)inputs[0].data;
    float *y = (float *)outputs[0].data;
    const int64_t rows = outputs[0].count, cols = inputs[0].count / rows;
#pragma omp parallel for schedule(static, CHUNK)
    for (int64_t r = 0; r < rows; r += ROWS)
        if (r + ROWS <= rows)
            sum_rows<ROWS>(x + r * cols, cols, y + r);
        else
            for (int64_t i = r; i < rows; i++) sum_rows<1>(x + i * cols, cols, y + i);
}

// y[r, i] = sum of x[r, :i].
#include "kb_tensor.h"

constexpr int BLOCK = 256;  // tune: 64, 256, 1024
constexpr int LANES = 8;  // tune: 4, 8, 16
constexpr int PREFETCH = 0;  // tune: 0, 1024, 4096

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const Tensor &in = inputs[0];
    const int64_t cols = in.shape[in.ndim - 1], rows = in.count / cols;
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < rows; r++) {
        const float *x = (const float *)in.data + r * cols;
        float *y = (float *)outputs[0].data + r * cols;
        // In double, so that the error does not grow with the number of blocks.
        double before = 0;
        for (int64_t i = 0; i < cols; i += BLOCK) {
            const int64_t n = cols - i < BLOCK ? cols - i : BLOCK;
            const float base = (float)before;
            // Past the end a prefetch does nothing.
            for (int line = 0; PREFETCH && line < BLOCK; line += 16) __builtin_prefetch(x + i + line + PREFETCH);
            // Each block starts at zero: it need not wait for the one before until `base` is added.
            float sum = 0;
#pragma omp simd reduction(inscan, + : sum) simdlen(LANES)
            for (int64_t j = 0; j < n; j++) {
                y[i + j] = base + sum;
#pragma omp scan exclusive(sum)
                sum += x[i + j];
            }
            before += sum;
        }
    }
}

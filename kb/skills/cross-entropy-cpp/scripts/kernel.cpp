// loss[r] = log of the sum of e^logits[r, :], less logits[r, labels[r]].
#include "kb_tensor.h"
#include <math.h>
#include <string.h>

constexpr int BLOCK = 4096;  // tune: 256, 512, 1024, 4096, 16384
constexpr int LANES = 8;  // tune: 8, 16, 32
constexpr int AHEAD = 0;  // tune: 0, 1, 2
constexpr int CHUNK = 1;  // tune: 1, 16, 64

// e^x for x <= 0. Without branches or calls, so that loops around it become vector code.
static inline float exp_negative(float x) {
    x = x < -87 ? -87 : x;  // below, 2^n would leave the range of float; the result there is nothing beside 1
    // x = n ln 2 + r with |r| <= ln 2 / 2. Adding 1.5 * 2^23 rounds: no digits are left behind the point.
    const float n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;
    // ln 2 in two parts: n times the first is exact.
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    // e^r by Taylor; what is left out is below 1e-8.
    float p = 1 / 5040.0f;
    p = p * r + 1 / 720.0f;
    p = p * r + 1 / 120.0f;
    p = p * r + 1 / 24.0f;
    p = p * r + 1 / 6.0f;
    p = p * r + 0.5f;
    p = p * r + 1;
    p = p * r + 1;
    // 2^n, written into a float's exponent.
    const int32_t bits = ((int32_t)n + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const int64_t *labels = (const int64_t *)inputs[1].data;
    const int64_t rows = inputs[1].count, cols = inputs[0].count / rows;
#pragma omp parallel for schedule(static, CHUNK)
    for (int64_t r = 0; r < rows; r++) {
        const float *x = (const float *)inputs[0].data + r * cols;
        // The sum so far is of e^(x - top). A block is small enough to be in the nearest cache when its exponentials
        // are taken; a whole row is not.
        float top = -INFINITY;
        double sum = 0;
        for (int64_t i = 0; i < cols; i += BLOCK) {
            const int64_t n = cols - i < BLOCK ? cols - i : BLOCK;
            float high = top, part = 0;
#pragma omp simd reduction(max : high) simdlen(LANES)
            for (int64_t j = 0; j < n; j++) high = x[i + j] > high ? x[i + j] : high;
            // The blocks ahead arrive while this one computes. Past the end a prefetch does nothing.
            for (int line = 0; AHEAD && line < BLOCK; line += 16) __builtin_prefetch(x + i + AHEAD * BLOCK + line);
#pragma omp simd reduction(+ : part) simdlen(LANES)
            for (int64_t j = 0; j < n; j++) part += exp_negative(x[i + j] - high);
            if (high > top) sum *= exp((double)top - high);
            sum += part;
            top = high;
        }
        ((float *)outputs[0].data)[r] = (float)(log(sum) + top - x[labels[r]]);
    }
}

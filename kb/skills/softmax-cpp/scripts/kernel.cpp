// y[r, :] = e^(x[r, :] - max) / sum of e^(x[r, :] - max).
#include "kb_tensor.h"
#include <math.h>
#include <string.h>

constexpr int LANES = 8;  // tune: 8, 16, 32
constexpr int CHUNK = 1;  // tune: 1, 16, 256
constexpr int BLOCK = 1024;

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
    const Tensor &in = inputs[0];
    const int64_t cols = in.shape[in.ndim - 1], rows = in.count / cols;
#pragma omp parallel for schedule(static, CHUNK)
    for (int64_t r = 0; r < rows; r++) {
        const float *x = (const float *)in.data + r * cols;
        float *y = (float *)outputs[0].data + r * cols;
        float top = -INFINITY;
#pragma omp simd reduction(max : top) simdlen(LANES)
        for (int64_t i = 0; i < cols; i++) top = x[i] > top ? x[i] : top;
        // Stored unscaled: the output row is in the cache when it is scaled, and no exponential is computed twice.
        // Summed in blocks, since a long float sum would swallow the many small terms.
        double sum = 0;
        for (int64_t i = 0; i < cols; i += BLOCK) {
            const int64_t end = i + BLOCK < cols ? i + BLOCK : cols;
            float part = 0;
#pragma omp simd reduction(+ : part) simdlen(LANES)
            for (int64_t j = i; j < end; j++) {
                y[j] = exp_negative(x[j] - top);
                part += y[j];
            }
            sum += part;
        }
        const float scale = (float)(1 / sum);
#pragma omp simd simdlen(LANES)
        for (int64_t i = 0; i < cols; i++) y[i] *= scale;
    }
}

#include <arm_sve.h>
#include <cmath>
#include "kb_tensor.h"

void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const int64_t cols = inputs[0].shape[1], step = svcntw();
    for (int64_t row = 0; row < inputs[0].shape[0]; ++row) {
        const float *x = static_cast<const float *>(inputs[0].data) + row * cols;
        float *y = static_cast<float *>(outputs[0].data) + row * cols;
        float most = -INFINITY, sum = 0;
        for (int64_t i = 0; i < cols; i += step) {
            const svbool_t inside = svwhilelt_b32_s64(i, cols);
            most = std::fmax(most, svmaxv_f32(inside, svld1_f32(inside, x + i)));
        }
        for (int64_t i = 0; i < cols; ++i) y[i] = std::exp(x[i] - most);
        for (int64_t i = 0; i < cols; i += step) {
            const svbool_t inside = svwhilelt_b32_s64(i, cols);
            sum += svaddv_f32(inside, svld1_f32(inside, y + i));
        }
        for (int64_t i = 0; i < cols; i += step) {
            const svbool_t inside = svwhilelt_b32_s64(i, cols);
            svst1_f32(inside, y + i, svmul_n_f32_x(inside, svld1_f32(inside, y + i), 1 / sum));
        }
    }
}

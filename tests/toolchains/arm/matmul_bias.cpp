#include <arm_sve.h>
#include "kb_tensor.h"

void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const int64_t rows = inputs[0].shape[0], inner = inputs[0].shape[1], cols = inputs[1].shape[1];
    const float *a = static_cast<const float *>(inputs[0].data), *b = static_cast<const float *>(inputs[1].data);
    const float *bias = static_cast<const float *>(inputs[2].data);
    float *y = static_cast<float *>(outputs[0].data);
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < cols; j += svcntw()) {
            const svbool_t inside = svwhilelt_b32_s64(j, cols);
            svfloat32_t sum = svld1_f32(inside, bias + j);
            for (int64_t k = 0; k < inner; ++k)
                sum = svmla_n_f32_x(inside, sum, svld1_f32(inside, b + k * cols + j), a[i * inner + k]);
            svst1_f32(inside, y + i * cols + j, sum);
        }
    }
}

#include <arm_sve.h>
#include <cmath>
#include "kb_tensor.h"

void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const float *x = static_cast<const float *>(inputs[0].data);
    float *y = static_cast<float *>(outputs[0].data);
    const int64_t count = inputs[0].count;
    for (int64_t i = 0; i < count; i += svcntw()) {
        const svbool_t inside = svwhilelt_b32_s64(i, count);
        const svfloat32_t v = svld1_f32(inside, x + i);
        const svfloat32_t cube = svmul_f32_x(inside, svmul_f32_x(inside, v, v), v);
        svst1_f32(inside, y + i, svmul_n_f32_x(inside, svmla_n_f32_x(inside, v, cube, 0.044715f), 0.7978845608f));
        for (int64_t j = i; j < count && j < i + static_cast<int64_t>(svcntw()); ++j) y[j] = 1 / (1 + std::exp(-2 * y[j]));
        svst1_f32(inside, y + i, svmul_f32_x(inside, v, svld1_f32(inside, y + i)));
    }
}

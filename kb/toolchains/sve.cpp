#include <arm_sve.h>
#include "kb_tensor.h"

void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const float *a = static_cast<const float *>(inputs[0].data), *b = static_cast<const float *>(inputs[1].data);
    float *y = static_cast<float *>(outputs[0].data);
    for (int64_t i = 0; i < inputs[0].count; i += svcntw()) {
        const svbool_t inside = svwhilelt_b32_s64(i, inputs[0].count);
        svst1_f32(inside, y + i, svmla_n_f32_x(inside, svld1_f32(inside, b + i), svld1_f32(inside, a + i), 2.0f));
    }
}

#include <cmath>
#include <riscv_vector.h>
#include "kb_tensor.h"

void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const float *x = static_cast<const float *>(inputs[0].data);
    float *y = static_cast<float *>(outputs[0].data);
    for (int64_t i = 0, n; i < inputs[0].count; i += n) {
        n = __riscv_vsetvl_e32m4(inputs[0].count - i);
        const vfloat32m4_t v = __riscv_vle32_v_f32m4(x + i, n);
        vfloat32m4_t inner = __riscv_vfmul_vv_f32m4(__riscv_vfmul_vv_f32m4(v, v, n), v, n);
        inner = __riscv_vfmacc_vf_f32m4(v, 0.044715f, inner, n);
        __riscv_vse32_v_f32m4(y + i, __riscv_vfmul_vf_f32m4(inner, 0.7978845608f, n), n);
        for (int64_t j = i; j < i + n; ++j) y[j] = 1 / (1 + std::exp(-2 * y[j]));
        __riscv_vse32_v_f32m4(y + i, __riscv_vfmul_vv_f32m4(v, __riscv_vle32_v_f32m4(y + i, n), n), n);
    }
}

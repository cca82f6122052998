#include <riscv_vector.h>
#include "kb_tensor.h"

void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const float *a = static_cast<const float *>(inputs[0].data), *b = static_cast<const float *>(inputs[1].data);
    float *y = static_cast<float *>(outputs[0].data);
    for (size_t left = inputs[0].count, n; left > 0; left -= n, a += n, b += n, y += n) {
        n = __riscv_vsetvl_e32m8(left);
        const vfloat32m8_t scaled = __riscv_vfmul_vf_f32m8(__riscv_vle32_v_f32m8(a, n), 2.0f, n);
        __riscv_vse32_v_f32m8(y, __riscv_vfadd_vv_f32m8(scaled, __riscv_vle32_v_f32m8(b, n), n), n);
    }
}

#include <riscv_vector.h>
#include "kb_tensor.h"

void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const int64_t rows = inputs[0].shape[0], inner = inputs[0].shape[1], cols = inputs[1].shape[1];
    const float *a = static_cast<const float *>(inputs[0].data), *b = static_cast<const float *>(inputs[1].data);
    const float *bias = static_cast<const float *>(inputs[2].data);
    float *y = static_cast<float *>(outputs[0].data);
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0, n; j < cols; j += n) {
            n = __riscv_vsetvl_e32m4(cols - j);
            vfloat32m4_t sum = __riscv_vle32_v_f32m4(bias + j, n);
            for (int64_t k = 0; k < inner; ++k)
                sum = __riscv_vfmacc_vf_f32m4(sum, a[i * inner + k], __riscv_vle32_v_f32m4(b + k * cols + j, n), n);
            __riscv_vse32_v_f32m4(y + i * cols + j, sum, n);
        }
    }
}

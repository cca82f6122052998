#include <cmath>
#include <riscv_vector.h>
#include "kb_tensor.h"

void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const int64_t cols = inputs[0].shape[1];
    for (int64_t row = 0; row < inputs[0].shape[0]; ++row) {
        const float *x = static_cast<const float *>(inputs[0].data) + row * cols;
        float *y = static_cast<float *>(outputs[0].data) + row * cols;
        vfloat32m1_t most = __riscv_vfmv_s_f_f32m1(-INFINITY, 1);
        for (int64_t i = 0, n; i < cols; i += n) {
            n = __riscv_vsetvl_e32m4(cols - i);
            most = __riscv_vfredmax_vs_f32m4_f32m1(__riscv_vle32_v_f32m4(x + i, n), most, n);
        }
        const float max = __riscv_vfmv_f_s_f32m1_f32(most);
        for (int64_t i = 0; i < cols; ++i) y[i] = std::exp(x[i] - max);
        vfloat32m1_t sum = __riscv_vfmv_s_f_f32m1(0, 1);
        for (int64_t i = 0, n; i < cols; i += n) {
            n = __riscv_vsetvl_e32m4(cols - i);
            sum = __riscv_vfredusum_vs_f32m4_f32m1(__riscv_vle32_v_f32m4(y + i, n), sum, n);
        }
        const float scale = 1 / __riscv_vfmv_f_s_f32m1_f32(sum);
        for (int64_t i = 0, n; i < cols; i += n) {
            n = __riscv_vsetvl_e32m4(cols - i);
            __riscv_vse32_v_f32m4(y + i, __riscv_vfmul_vf_f32m4(__riscv_vle32_v_f32m4(y + i, n), scale, n), n);
        }
    }
}

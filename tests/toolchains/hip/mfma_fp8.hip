#include <hip/hip_runtime.h>
#include "kb_tensor_cuda.h"

/* A matrix product of float8, which CDNA 3 brought. */
using A = int64_t;
typedef float C __attribute__((ext_vector_type(4)));
__global__ void __launch_bounds__(64) product(const A *a, C *y) {
    const A own = a[threadIdx.x];
    y[threadIdx.x] = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(own, own, C{}, 0, 0, 0);
}

void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs, void *stream) {
    product<<<1, 64, 0, static_cast<hipStream_t>(stream)>>>(
        static_cast<const A *>(inputs[0].data), static_cast<C *>(outputs[0].data));
}

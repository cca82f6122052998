#include <hip/hip_runtime.h>
#include "kb_tensor_cuda.h"

/* The same as an instruction in assembly. */
using A = float;
typedef float C __attribute__((ext_vector_type(4)));
__global__ void __launch_bounds__(64) product(const A *, C *y) {
    C sum = {};
    asm volatile("v_mfma_f32_16x16x128_f8f6f4 %0, v[0:7], v[8:15], %0" : "+v"(sum));
    y[threadIdx.x] = sum;
}

void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs, void *stream) {
    product<<<1, 64, 0, static_cast<hipStream_t>(stream)>>>(
        static_cast<const A *>(inputs[0].data), static_cast<C *>(outputs[0].data));
}

#include "kb_tensor_cuda.h"

/* Tensor memory, which only data-centre Blackwell has. */
__global__ void __launch_bounds__(128) row_sum(float *y) {
    __shared__ uint32_t place;
    const uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(&place));
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(at));
    __syncthreads();
    y[threadIdx.x] = place;
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(place));
}

void model_new(const Tensor *, const Tensor *, const double *, Tensor *outputs, void *stream) {
    row_sum<<<1, 128, 0, static_cast<cudaStream_t>(stream)>>>(static_cast<float *>(outputs[0].data));
}

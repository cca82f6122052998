#include "kb_tensor_cuda.h"

/* Matrix products of a warp group, which only Hopper has. */
__global__ void __launch_bounds__(128) row_sum(float *y, uint64_t a, uint64_t b) {
    float d[4] = {};
    asm volatile("wgmma.fence.sync.aligned;");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
    asm volatile("wgmma.commit_group.sync.aligned;");
    asm volatile("wgmma.wait_group.sync.aligned 0;");
    for (int i = 0; i < 4; ++i) y[4 * threadIdx.x + i] = d[i];
}

void model_new(const Tensor *, const Tensor *, const double *, Tensor *outputs, void *stream) {
    row_sum<<<1, 128, 0, static_cast<cudaStream_t>(stream)>>>(static_cast<float *>(outputs[0].data), 0, 0);
}

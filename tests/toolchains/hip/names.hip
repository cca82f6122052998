#include <hip/hip_runtime.h>
#include "kb_tensor_cuda.h"
#include <stddef.h>
#include <stdint.h>

/* Each name that the rules promise. */
__device__ float all(float x) {
    const float rounded = floorf(x) + ceilf(x) + roundf(x) + fabsf(x) + fmaxf(x, 1) + fminf(x, 2) + fmaf(x, x, x);
    return rounded + expf(x) + exp2f(x) + logf(x) + log2f(x) + sqrtf(x) + rsqrtf(x) + sinf(x) + cosf(x);
}

__global__ void __launch_bounds__(256) names(const float4 *x, float *y, int *counter) {
    __shared__ float scratch[256];
    const float2 both = {x[blockIdx.x].x, x[blockIdx.y].w};
    scratch[threadIdx.x] = all(both.x) + static_cast<_Float16>(both.y) + static_cast<__bf16>(both.x);
    __syncthreads();
    float sum = scratch[255 - threadIdx.x] + __shfl(both.x, 0) + __shfl_xor(both.y, 1) + __shfl_down(both.x, 2);
    sum += static_cast<float>(warpSize) * __shfl(static_cast<int>(blockDim.x), 1);
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
    atomicAdd(counter, 1);
    atomicAdd(y, sum);
}

static int *counter;

void load_reference(const Tensor *, const double *, void *) { hipMalloc(reinterpret_cast<void **>(&counter), 4); }

void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs, void *stream) {
    names<<<dim3(1, 1), dim3(256), 0, (hipStream_t)stream>>>(
        static_cast<const float4 *>(inputs[0].data), static_cast<float *>(outputs[0].data), counter);
}

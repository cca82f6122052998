/* What kernels need of HIP, made of clang's builtins, so that they compile where ROCm is not installed.
   Where it is, the same source is compiled with ROCm's own <hip/hip_runtime.h>. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))

struct dim3 {
    uint32_t x, y, z;
    constexpr __host__ __device__ dim3(uint32_t x = 1, uint32_t y = 1, uint32_t z = 1) : x(x), y(y), z(z) {}
};

typedef struct ihipStream_t *hipStream_t;
typedef int hipError_t;
extern "C" {
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t scratchpad = 0, hipStream_t stream = nullptr);
hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *scratchpad, hipStream_t *stream);
hipError_t hipLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t, hipStream_t stream);
hipError_t hipMalloc(void **memory, size_t bytes);
}

#define HIP_INDEX(of) dim3(__builtin_amdgcn_##of##_x(), __builtin_amdgcn_##of##_y(), __builtin_amdgcn_##of##_z())
#define threadIdx HIP_INDEX(workitem_id)
#define blockIdx HIP_INDEX(workgroup_id)
#define blockDim HIP_INDEX(workgroup_size)
#define warpSize __builtin_amdgcn_wavefrontsize()

typedef float float2 __attribute__((ext_vector_type(2)));
typedef float float4 __attribute__((ext_vector_type(4)));

#define HIP_FUNCTION static __device__ __forceinline__
#define HIP_MATH(name) HIP_FUNCTION float name(float x) { return __builtin_##name(x); }
HIP_MATH(expf) HIP_MATH(exp2f) HIP_MATH(logf) HIP_MATH(log2f) HIP_MATH(sqrtf) HIP_MATH(fabsf)
HIP_MATH(floorf) HIP_MATH(ceilf) HIP_MATH(roundf) HIP_MATH(sinf) HIP_MATH(cosf)
HIP_FUNCTION float rsqrtf(float x) { return __builtin_amdgcn_rsqf(x); }
HIP_FUNCTION float fmaxf(float x, float y) { return __builtin_fmaxf(x, y); }
HIP_FUNCTION float fminf(float x, float y) { return __builtin_fminf(x, y); }
HIP_FUNCTION float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }

HIP_FUNCTION void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

HIP_FUNCTION uint32_t __lane_id() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }

/* T has 32 bits. */
template <typename T> HIP_FUNCTION T __shfl(T value, int lane) {
    return __builtin_bit_cast(T, __builtin_amdgcn_ds_bpermute(4 * lane, __builtin_bit_cast(int, value)));
}
template <typename T> HIP_FUNCTION T __shfl_xor(T value, int mask) { return __shfl(value, __lane_id() ^ mask); }
template <typename T> HIP_FUNCTION T __shfl_down(T value, int steps) { return __shfl(value, __lane_id() + steps); }

template <typename T> HIP_FUNCTION T atomicAdd(T *place, T value) {
    return __hip_atomic_fetch_add(place, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

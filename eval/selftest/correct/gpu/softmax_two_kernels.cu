// Correct: two kernels, one after the other; the first leaves the exponentials in the output.
#include "kb_tensor_cuda.h"

constexpr int THREADS = 256;

__global__ void exponentials(const float *x, float *y, int64_t columns) {
    __shared__ float tops[THREADS];
    x += blockIdx.x * columns;
    y += blockIdx.x * columns;
    float top = -INFINITY;
    for (int64_t i = threadIdx.x; i < columns; i += THREADS) top = fmaxf(top, x[i]);
    tops[threadIdx.x] = top;
    for (int half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) tops[threadIdx.x] = fmaxf(tops[threadIdx.x], tops[threadIdx.x + half]);
    }
    __syncthreads();
    for (int64_t i = threadIdx.x; i < columns; i += THREADS) y[i] = expf(x[i] - tops[0]);
}

__global__ void divide(float *y, int64_t columns) {
    __shared__ float sums[THREADS];
    y += blockIdx.x * columns;
    float sum = 0;
    for (int64_t i = threadIdx.x; i < columns; i += THREADS) sum += y[i];
    sums[threadIdx.x] = sum;
    for (int half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    __syncthreads();
    for (int64_t i = threadIdx.x; i < columns; i += THREADS) y[i] /= sums[0];
}

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs, void *stream) {
    int64_t columns = inputs[0].shape[inputs[0].ndim - 1], rows = inputs[0].count / columns;
    float *y = (float *)outputs[0].data;
    exponentials<<<rows, THREADS, 0, (cudaStream_t)stream>>>((float *)inputs[0].data, y, columns);
    divide<<<rows, THREADS, 0, (cudaStream_t)stream>>>(y, columns);
}

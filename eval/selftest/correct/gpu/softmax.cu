// Correct: a block for each row; each thread keeps a maximum and a sum for it.
#include "kb_tensor_cuda.h"

constexpr int THREADS = 256;

__global__ void softmax(const float *x, float *y, int64_t columns) {
    __shared__ float tops[THREADS], sums[THREADS];
    x += blockIdx.x * columns;
    y += blockIdx.x * columns;
    float top = -INFINITY, sum = 0;
    for (int64_t i = threadIdx.x; i < columns; i += THREADS) {
        if (x[i] == -INFINITY) continue;  // less itself it would be NaN
        float high = fmaxf(top, x[i]);
        sum = sum * expf(top - high) + expf(x[i] - high);
        top = high;
    }
    tops[threadIdx.x] = top;
    sums[threadIdx.x] = sum;
    for (int half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half && sums[threadIdx.x + half] != 0) {
            float a = tops[threadIdx.x], b = tops[threadIdx.x + half], high = fmaxf(a, b);
            sums[threadIdx.x] = sums[threadIdx.x] * expf(a - high) + sums[threadIdx.x + half] * expf(b - high);
            tops[threadIdx.x] = high;
        }
    }
    __syncthreads();
    for (int64_t i = threadIdx.x; i < columns; i += THREADS) y[i] = expf(x[i] - tops[0]) / sums[0];
}

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs, void *stream) {
    int64_t columns = inputs[0].shape[inputs[0].ndim - 1];
    softmax<<<inputs[0].count / columns, THREADS, 0, (cudaStream_t)stream>>>((float *)inputs[0].data, (float *)outputs[0].data, columns);
}

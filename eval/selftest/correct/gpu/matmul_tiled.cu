// Correct: tiles in shared memory, float32 throughout.
#include "kb_tensor_cuda.h"

constexpr int TILE = 32;

__global__ void matmul(const float *a, const float *b, float *c, int64_t rows, int64_t inner, int64_t columns) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int64_t row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int64_t k = 0; k < inner; k += TILE) {
        left[threadIdx.y][threadIdx.x] = row < rows && k + threadIdx.x < inner ? a[row * inner + k + threadIdx.x] : 0;
        right[threadIdx.y][threadIdx.x] = column < columns && k + threadIdx.y < inner ? b[(k + threadIdx.y) * columns + column] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    if (row < rows && column < columns) c[row * columns + column] = sum;
}

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs, void *stream) {
    int64_t rows = inputs[0].shape[0], inner = inputs[0].shape[1], columns = inputs[1].shape[1];
    dim3 blocks((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE), threads(TILE, TILE);
    matmul<<<blocks, threads, 0, (cudaStream_t)stream>>>((float *)inputs[0].data, (float *)inputs[1].data, (float *)outputs[0].data, rows, inner, columns);
}

// Correct: transposes the weight once, into its own memory, and uses it in every call.
#include "kb_tensor_cuda.h"

static float *transposed;

__global__ void transpose(const float *weight, float *to, int64_t rows, int64_t columns) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < rows * columns) to[(i % columns) * rows + i / columns] = weight[i];
}

__global__ void linear(const float *x, const float *weight, const float *bias, float *y, int64_t inner, int64_t columns, float scale) {
    int64_t column = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (column >= columns) return;
    x += blockIdx.y * inner;
    float sum = 0;
    for (int64_t k = 0; k < inner; k++) sum += x[k] * weight[k * columns + column];
    y[blockIdx.y * columns + column] = fmaxf(sum + bias[column], 0) * scale;
}

extern "C" void load_reference(const Tensor *state, const double *, void *stream) {
    cudaMalloc(&transposed, state[0].count * sizeof(float));
    transpose<<<(state[0].count + 255) / 256, 256, 0, (cudaStream_t)stream>>>((float *)state[0].data, transposed, state[0].shape[0], state[0].shape[1]);
}

extern "C" void model_new(const Tensor *inputs, const Tensor *state, const double *init, Tensor *outputs, void *stream) {
    int64_t columns = state[0].shape[0], inner = state[0].shape[1];
    dim3 blocks((columns + 63) / 64, inputs[0].count / inner);
    linear<<<blocks, 64, 0, (cudaStream_t)stream>>>((float *)inputs[0].data, transposed, (float *)state[1].data, (float *)outputs[0].data, inner, columns, (float)init[2]);
}

#include "kb_tensor_cuda.h"
#include <mma.h>

/* Matrix products of a warp, which each GPU from Volta on has. */
__global__ void __launch_bounds__(32) product(const half *a, const half *b, float *y) {
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, half, row_major> left;
    fragment<matrix_b, 16, 16, 16, half, row_major> right;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    load_matrix_sync(left, a, 16);
    load_matrix_sync(right, b, 16);
    mma_sync(sum, left, right, sum);
    store_matrix_sync(y, sum, 16, mem_row_major);
}

void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs, void *stream) {
    product<<<1, 32, 0, static_cast<cudaStream_t>(stream)>>>(
        static_cast<const half *>(inputs[0].data), static_cast<const half *>(inputs[0].data),
        static_cast<float *>(outputs[0].data));
}

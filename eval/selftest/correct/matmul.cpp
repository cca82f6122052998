// Serial sums in blocks of 64 rows of the second matrix.
#include "kb_tensor.h"

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const int64_t rows = inputs[0].shape[0], inner = inputs[0].shape[1], cols = inputs[1].shape[1];
    const float *a = (const float *)inputs[0].data, *b = (const float *)inputs[1].data;
    float *c = (float *)outputs[0].data;
    for (int64_t i = 0; i < rows * cols; i++) c[i] = 0;
    for (int64_t block = 0; block < inner; block += 64)
        for (int64_t row = 0; row < rows; row++)
            for (int64_t k = block; k < inner && k < block + 64; k++)
                for (int64_t col = 0; col < cols; col++) c[row * cols + col] += a[row * inner + k] * b[k * cols + col];
}

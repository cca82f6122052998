// Loss of each row: the logarithm of the sum of exponentials, minus the logit of the label.
#include <math.h>

#include "kb_tensor.h"

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const int64_t rows = inputs[0].shape[0], cols = inputs[0].shape[1];
    for (int64_t row = 0; row < rows; row++) {
        const float *x = (const float *)inputs[0].data + row * cols;
        float largest = x[0];
        for (int64_t i = 1; i < cols; i++) largest = x[i] > largest ? x[i] : largest;
        float sum = 0;
        for (int64_t i = 0; i < cols; i++) sum += expf(x[i] - largest);
        ((float *)outputs[0].data)[row] = logf(sum) + largest - x[((const int64_t *)inputs[1].data)[row]];
    }
}

#include "kb_tensor.h"

void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const float *a = static_cast<const float *>(inputs[0].data), *b = static_cast<const float *>(inputs[1].data);
    for (int64_t i = 0; i < inputs[0].count; ++i) static_cast<float *>(outputs[0].data)[i] = 2 * a[i] + b[i];
}

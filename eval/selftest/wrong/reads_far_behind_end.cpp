// Right, but it also reads 24 values behind the end of the input, which may belong to no one, and does not use them.
#include "kb_tensor.h"

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const float *x = (const float *)inputs[0].data;
    const int64_t count = inputs[0].count;
    double sum = 0;
    for (int64_t i = 0; i < count + 24; i++) {
        const float value = ((volatile const float *)x)[i];
        if (i < count) sum += (double)value * value;
    }
    *(float *)outputs[0].data = sum / count;
}

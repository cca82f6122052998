// Needs more memory than any machine has.
#include "kb_tensor.h"

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    char *much = new char[INT64_C(1) << 46];
    for (int64_t i = 0; i < INT64_C(1) << 46; i += 4096) much[i] = 1;
    for (int64_t i = 0; i < inputs[0].count; i++) ((float *)outputs[0].data)[i] = 2 * ((float *)inputs[0].data)[i] + much[0];
}

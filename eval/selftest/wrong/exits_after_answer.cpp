// Correct, but ends its process with status 0 shortly after the answer.
#include <unistd.h>

#include <thread>

#include "kb_tensor.h"

static void scale(const Tensor *inputs, Tensor *outputs) {
    const float *x = (const float *)inputs[0].data;
    for (int64_t i = 0; i < inputs[0].count; i++) ((float *)outputs[0].data)[i] = 2 * x[i] + 1;
}

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    scale(inputs, outputs);
    std::thread([] {
        usleep(100000);
        _exit(0);
    }).detach();
}

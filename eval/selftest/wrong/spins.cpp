// Correct, but keeps the processors busy between questions, in a thread and in another process.
#include <unistd.h>

#include <thread>

#include "kb_tensor.h"

static void scale(const Tensor *inputs, Tensor *outputs) {
    const float *x = (const float *)inputs[0].data;
    for (int64_t i = 0; i < inputs[0].count; i++) ((float *)outputs[0].data)[i] = 2 * x[i] + 1;
}

static void spin() {
    for (volatile int64_t i = 0;; i = i + 1) continue;
}

extern "C" void load_reference(const Tensor *, const double *) {
    std::thread(spin).detach();
    setsid();
    if (fork() == 0) {
        setsid();
        spin();
    }
}

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) { scale(inputs, outputs); }

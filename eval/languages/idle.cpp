#include <stdio.h>
#include <time.h>
#include "kb_tensor.h"

static double now_us() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * now.tv_sec + 1e-3 * now.tv_nsec;
}

void model_new(const Tensor *, const Tensor *, const double *, Tensor *) {
    const double start = now_us();
    double wait_us = 0;
    if (FILE *file = fopen(WAIT_FILE, "r")) {
        fscanf(file, "%lf", &wait_us);
        fclose(file);
    }
    while (now_us() - start < wait_us) {}
}

// Correct, but starts a process that tries to outlive it.
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "kb_tensor.h"

static void scale(const Tensor *inputs, Tensor *outputs) {
    const float *x = (const float *)inputs[0].data;
    for (int64_t i = 0; i < inputs[0].count; i++) ((float *)outputs[0].data)[i] = 2 * x[i] + 1;
}

extern "C" void load_reference(const Tensor *, const double *) {
    const pid_t child = fork();
    if (child < 0) printf("no child\n"), fflush(stdout);
    if (child == 0) {
        setsid();
        signal(SIGHUP, SIG_IGN);
        if (fork()) _exit(0);
        prctl(PR_SET_PDEATHSIG, 0);
        dprintf(1, "left behind: %d\n", getpid());
        for (;;) pause();
    }
}

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) { scale(inputs, outputs); }

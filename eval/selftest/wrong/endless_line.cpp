// Floods the judge with a very long line.
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "kb_tensor.h"

static void scale(const Tensor *inputs, Tensor *outputs) {
    const float *x = (const float *)inputs[0].data;
    for (int64_t i = 0; i < inputs[0].count; i++) ((float *)outputs[0].data)[i] = 2 * x[i] + 1;
}

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const std::string line(1 << 20, 'a');
    for (int handle = 3; handle < 1024; handle++) {
        struct stat status;
        if (fstat(handle, &status) != 0 || !S_ISFIFO(status.st_mode)) continue;
        for (size_t done = 0; done < line.size();) {
            ssize_t count = write(handle, line.data() + done, line.size() - done);
            if (count < 0) break;
            done += count;
        }
        if (write(handle, "\n", 1) < 0) continue;
    }
    scale(inputs, outputs);
}

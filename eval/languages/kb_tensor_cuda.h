/* The interface of a `cuda` candidate. It defines model_new and, if it stores weights in another form, load_reference.
   Compile with: nvcc -std=c++17 -O3 -shared -Xcompiler -fPIC -I<folder of this file>; the same source serves hipcc. */
#pragma once
#include <stdint.h>

typedef struct {
    void *data;           /* in the GPU's memory: contiguous, row-major, aligned to 64 bytes */
    const int64_t *shape; /* ndim sizes, in the host's memory */
    int64_t ndim;
    int64_t count;        /* number of elements: the product of the sizes */
} Tensor;

#ifdef __cplusplus
extern "C" {
#endif

/* Launch the kernels that compute the outputs from the inputs of one call, in order, on `stream`, a cudaStream_t.
   inputs: the tensors given to forward(), in order. Read-only.
   state: the reference's parameters and buffers, in the order of its state_dict. Read-only.
   init: the numbers given to Model(...), lists flattened, in order.
   outputs: allocated but not initialised. The kernels must write all of them. */
void model_new(const Tensor *inputs, const Tensor *state, const double *init, Tensor *outputs, void *stream);

/* Optional. Called once before the first call, untimed: allocate memory, and convert or repack the state, here. */
void load_reference(const Tensor *state, const double *init, void *stream);

#ifdef __cplusplus
}
#endif

/* The interface of a `cpp` candidate. It defines model_new and, if it stores weights in another form, load_reference.
   Compile with: c++ -std=c++17 -O3 -march=native -fopenmp -shared -fPIC -I<folder of this file> */
#pragma once
#include <stdint.h>

typedef struct {
    void *data;           /* contiguous, row-major, aligned to 64 bytes */
    const int64_t *shape; /* ndim sizes */
    int64_t ndim;
    int64_t count;        /* number of elements: the product of the sizes */
} Tensor;

#ifdef __cplusplus
extern "C" {
#endif

/* Compute the outputs from the inputs of one call.
   inputs: the tensors given to forward(), in order. Read-only.
   state: the reference's parameters and buffers, in the order of its state_dict. Read-only.
   init: the numbers given to Model(...), lists flattened, in order.
   outputs: allocated but not initialised. All must be fully written when the function returns. */
void model_new(const Tensor *inputs, const Tensor *state, const double *init, Tensor *outputs);

/* Optional. Called once before the first call, untimed: convert or repack the state here. */
void load_reference(const Tensor *state, const double *init);

#ifdef __cplusplus
}
#endif

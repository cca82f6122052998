// Tile storage of the matrix extension, which the target lacks.
#include "kb_tensor.h"

void model_new(const Tensor *, const Tensor *, const double *, Tensor *) { asm volatile("zero {za}"); }

// Defines another function than the one that is asked for.
#include "kb_tensor.h"

extern "C" void model(const Tensor *inputs, Tensor *outputs) { *outputs = *inputs; }

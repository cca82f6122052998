// Defines another function than the required one.
#include "kb_tensor.h"

extern "C" void model(const Tensor *inputs, Tensor *outputs) { *outputs = *inputs; }

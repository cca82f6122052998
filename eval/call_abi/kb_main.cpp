/* The program around a `cpp` candidate on a simulator: reads one call from files, makes it, and writes its outputs.
   call.txt lists the tensors, one per line: `input 0 float32 64 128` is input_0.bin, raw and row-major. */
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>
#include "kb_tensor.h"

extern "C" __attribute__((weak)) void load_reference(const Tensor *state, const double *init);

namespace {

struct Tensors {
    std::vector<std::vector<int64_t>> shapes;
    std::vector<size_t> bytes;
    std::vector<Tensor> tensors;
};

[[noreturn]] void fail(const std::string &what) {
    std::fprintf(stderr, "kb_main: %s\n", what.c_str());
    std::exit(3);
}

size_t item_bytes(const std::string &dtype) {
    if (dtype == "bool") return 1;
    if (dtype.size() > 2 && dtype.substr(dtype.size() - 2) == "64") return 8;
    if (dtype.size() > 2 && dtype.substr(dtype.size() - 2) == "32") return 4;
    if (dtype.size() > 2 && dtype.substr(dtype.size() - 2) == "16") return 2;
    return 1;
}

void add(Tensors &all, std::istringstream &line) {
    int number;
    std::string dtype;
    line >> number >> dtype;
    std::vector<int64_t> shape;
    int64_t count = 1;
    for (int64_t size; line >> size; count *= size) shape.push_back(size);
    const size_t bytes = count * item_bytes(dtype);
    void *data = nullptr;
    if (posix_memalign(&data, 64, bytes ? bytes : 64)) fail("out of memory");
    all.shapes.push_back(shape);
    all.bytes.push_back(bytes);
    all.tensors.push_back({data, nullptr, static_cast<int64_t>(shape.size()), count});
}

std::string file_of(const char *kind, size_t number) {
    return std::string(kind) + "_" + std::to_string(number) + ".bin";
}

void finish(Tensors &all, const char *kind, bool read) {
    for (size_t i = 0; i < all.tensors.size(); ++i) {
        all.tensors[i].shape = all.shapes[i].data();
        if (!read || !all.bytes[i]) continue;
        std::ifstream file(file_of(kind, i), std::ios::binary);
        if (!file.read(static_cast<char *>(all.tensors[i].data), all.bytes[i])) fail("cannot read " + file_of(kind, i));
    }
}

}  // namespace

int main() {
    Tensors inputs, state, outputs;
    std::vector<double> init;
    std::ifstream call("call.txt");
    for (std::string text; std::getline(call, text);) {
        std::istringstream line(text);
        std::string kind;
        line >> kind;
        if (kind == "input") add(inputs, line);
        else if (kind == "state") add(state, line);
        else if (kind == "output") add(outputs, line);
        else if (kind == "init") for (double number; line >> number;) init.push_back(number);
        else fail("unknown line: " + text);
    }
    finish(inputs, "input", true);
    finish(state, "state", true);
    finish(outputs, "output", false);
    init.push_back(0);
    if (load_reference) load_reference(state.tensors.data(), init.data());
    model_new(inputs.tensors.data(), state.tensors.data(), init.data(), outputs.tensors.data());
    for (size_t i = 0; i < outputs.tensors.size(); ++i) {
        std::ofstream file(file_of("output", i), std::ios::binary);
        if (!file.write(static_cast<const char *>(outputs.tensors[i].data), outputs.bytes[i])) fail("cannot write");
    }
}

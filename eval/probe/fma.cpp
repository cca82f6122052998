// Multiply-adds in registers on all cores: each chain depends only on itself, and there are enough to hide the latency.
#include <cstdint>
#include <omp.h>

#if defined(__AVX512F__)
constexpr int REGISTER_BYTES = 64;
#elif defined(__AVX__)
constexpr int REGISTER_BYTES = 32;
#else
constexpr int REGISTER_BYTES = 16;
#endif
constexpr int CHAINS = 10;  // with the two constants they fit into 16 registers, the minimum of the cases above

typedef float Floats __attribute__((vector_size(REGISTER_BYTES)));
typedef double Doubles __attribute__((vector_size(REGISTER_BYTES)));

// Returns the number of floating-point operations.
template <typename Vector, typename Number>
double multiply_add(int64_t rounds, Number factor, Number summand) {
    int threads = 0;
#pragma omp parallel reduction(+ : threads)
    {
        Vector x[CHAINS];
        for (int c = 0; c < CHAINS; c++) x[c] = Vector{} + Number(c);
        for (int64_t round = 0; round < rounds; round++)
            for (int c = 0; c < CHAINS; c++) x[c] = x[c] * factor + summand;
        asm volatile("" : : "r"(x) : "memory");  // makes the compiler believe that the results are used
        threads = 1;
    }
    return 2.0 * rounds * CHAINS * (sizeof(Vector) / sizeof(Number)) * threads;
}

extern "C" double float32(int64_t rounds) { return multiply_add<Floats, float>(rounds, 0.5f, 1.0f); }
extern "C" double float64(int64_t rounds) { return multiply_add<Doubles, double>(rounds, 0.5, 1.0); }

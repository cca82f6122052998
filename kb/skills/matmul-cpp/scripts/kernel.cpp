// c = a b. A tile of c stays in registers while a strip of a and a packed panel of b pass by.
#include "kb_tensor.h"

constexpr int ROWS = 4;  // tune: 2, 4, 6, 8, 12
constexpr int WIDTH = 32;  // tune: 16, 32, 48, 64
constexpr int DEPTH = 128;  // tune: 64, 128, 256, 512
constexpr int BAND = 96;  // tune: 48, 96, 192, 384

// Adds to N rows of c, `width` columns of them, the product of `depth` columns of a and the panel.
template <int N>
static void tile(const float *a, int64_t inner, const float *panel, int64_t depth, float *c, int64_t cols,
                 int64_t width) {
    float sums[N][WIDTH] = {};
    for (int64_t k = 0; k < depth; k++)
        for (int r = 0; r < N; r++)
#pragma omp simd
            for (int j = 0; j < WIDTH; j++) sums[r][j] += a[r * inner + k] * panel[k * WIDTH + j];
    for (int r = 0; r < N; r++)
        for (int64_t j = 0; j < width; j++) c[r * cols + j] += sums[r][j];
}

extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const int64_t rows = inputs[0].shape[0], inner = inputs[0].shape[1], cols = inputs[1].shape[1];
    const float *a = (const float *)inputs[0].data, *b = (const float *)inputs[1].data;
    float *c = (float *)outputs[0].data;
#pragma omp parallel for collapse(2) schedule(dynamic)
    for (int64_t top = 0; top < rows; top += BAND)
        for (int64_t left = 0; left < cols; left += WIDTH) {
            const int64_t bottom = top + BAND < rows ? top + BAND : rows;
            const int64_t width = cols - left < WIDTH ? cols - left : WIDTH;
            for (int64_t r = top; r < bottom; r++)
                for (int64_t j = left; j < left + width; j++) c[r * cols + j] = 0;
            for (int64_t k = 0; k < inner; k += DEPTH) {
                const int64_t depth = inner - k < DEPTH ? inner - k : DEPTH;
                // Packed, since the rows of b lie so far apart that they would fall into the same few lines of the
                // cache; filled up with zeros, so that the tile's loops need no tails.
                alignas(64) float panel[DEPTH * WIDTH];
                for (int64_t i = 0; i < depth; i++)
                    for (int64_t j = 0; j < WIDTH; j++)
                        panel[i * WIDTH + j] = j < width ? b[(k + i) * cols + left + j] : 0;
                int64_t r = top;
                for (; r + ROWS <= bottom; r += ROWS)
                    tile<ROWS>(a + r * inner + k, inner, panel, depth, c + r * cols + left, cols, width);
                for (; r < bottom; r++)
                    tile<1>(a + r * inner + k, inner, panel, depth, c + r * cols + left, cols, width);
            }
        }
}

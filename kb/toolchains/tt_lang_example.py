"""2 a + b, tile by tile on one core."""

import ttl
import ttnn

TILE = 32


@ttl.operation(grid=(1, 1))
def scaled_add(a: ttnn.Tensor, b: ttnn.Tensor, out: ttnn.Tensor):
    rows, columns = a.shape[0] // TILE, a.shape[1] // TILE
    a_buffer = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
    b_buffer = ttl.make_dataflow_buffer_like(b, shape=(1, 1), block_count=2)
    out_buffer = ttl.make_dataflow_buffer_like(out, shape=(1, 1), block_count=2)

    @ttl.datamovement()
    def read():
        for row in range(rows):
            for column in range(columns):
                with a_buffer.reserve() as a_block, b_buffer.reserve() as b_block:
                    a_copy = ttl.copy(a[row, column], a_block)
                    b_copy = ttl.copy(b[row, column], b_block)
                    a_copy.wait()
                    b_copy.wait()

    @ttl.compute()
    def compute():
        for _ in range(rows * columns):
            with a_buffer.wait() as a_block, b_buffer.wait() as b_block, out_buffer.reserve() as out_block:
                out_block.store(a_block + a_block + b_block)

    @ttl.datamovement()
    def write():
        for row in range(rows):
            for column in range(columns):
                with out_buffer.wait() as out_block:
                    ttl.copy(out_block, out[row, column]).wait()


def model_new(inputs, state, init, outputs):
    scaled_add(*inputs, *outputs)

import ttl
import ttnn

TILE = 32


@ttl.operation(grid=(1, 1))
def matmul_bias(a: ttnn.Tensor, b: ttnn.Tensor, bias: ttnn.Tensor, out: ttnn.Tensor):
    rows, inner, columns = a.shape[0] // TILE, a.shape[1] // TILE, b.shape[1] // TILE
    a_buffer = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
    b_buffer = ttl.make_dataflow_buffer_like(b, shape=(1, 1), block_count=2)
    bias_buffer = ttl.make_dataflow_buffer_like(bias, shape=(1, 1), block_count=2)
    sum_buffer = ttl.make_dataflow_buffer_like(out, shape=(1, 1), block_count=2)
    out_buffer = ttl.make_dataflow_buffer_like(out, shape=(1, 1), block_count=2)

    @ttl.datamovement()
    def read():
        for row in range(rows):
            for column in range(columns):
                with bias_buffer.reserve() as block:
                    ttl.copy(bias[0, column], block).wait()
                for k in range(inner):
                    with a_buffer.reserve() as a_block, b_buffer.reserve() as b_block:
                        a_copy = ttl.copy(a[row, k], a_block)
                        b_copy = ttl.copy(b[k, column], b_block)
                        a_copy.wait()
                        b_copy.wait()

    @ttl.compute()
    def compute():
        for _ in range(rows * columns):
            with bias_buffer.wait() as bias_block, sum_buffer.reserve() as total:
                total.store(ttl.block.broadcast(bias_block, dims=[0], shape=(1, 1)))
            for _ in range(inner):
                with (
                    a_buffer.wait() as a_block,
                    b_buffer.wait() as b_block,
                    sum_buffer.wait() as before,
                    sum_buffer.reserve() as after,
                ):
                    after.store(before + a_block @ b_block)
            with sum_buffer.wait() as total, out_buffer.reserve() as out_block:
                out_block.store(total)

    @ttl.datamovement()
    def write():
        for row in range(rows):
            for column in range(columns):
                with out_buffer.wait() as block:
                    ttl.copy(block, out[row, column]).wait()


def model_new(inputs, state, init, outputs):
    matmul_bias(*inputs, *outputs)

import ttl
import ttnn


@ttl.operation(grid=(1, 1))
def nothing(x: ttnn.Tensor, y: ttnn.Tensor):
    @ttl.datamovement()
    def read():
        pass

    @ttl.compute()
    def compute():
        pass

    @ttl.datamovement()
    def write():
        pass


def model_new(inputs, state, init, outputs):
    nothing(*inputs, *outputs)

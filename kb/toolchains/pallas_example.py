"""2 a + b, by blocks of whole rows."""

import jax
from jax.experimental import pallas as pl

ROWS = 8  # tune: 8, 16, 32


def kernel(a, b, out):
    out[...] = 2 * a[...] + b[...]


def model_new(inputs, state, init):
    a, b = inputs
    block = pl.BlockSpec((ROWS, a.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(a.shape, a.dtype),
        grid=(pl.cdiv(a.shape[0], ROWS),),
        in_specs=[block, block],
        out_specs=block,
    )(a, b)

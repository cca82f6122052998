import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

ROWS = 8


def kernel(x, y):
    y[...] = jnp.sum(jnp.sort(x[...], axis=-1), axis=-1, keepdims=True)


def model_new(inputs, state, init):
    (x,) = inputs
    sums = pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((x.shape[0], 1), x.dtype),
        grid=(pl.cdiv(x.shape[0], ROWS),),
        in_specs=[pl.BlockSpec((ROWS, x.shape[1]), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((ROWS, 1), lambda i: (i, 0)),
    )(x)
    return sums.reshape(-1)

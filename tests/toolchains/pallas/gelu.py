import math

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

ROWS = 8


def kernel(x_ref, y_ref):
    x = x_ref[...]
    # (1 + tanh(u)) / 2 is the sigmoid of 2 u, which loses no digits where it is near 0
    y_ref[...] = x / (1 + jnp.exp(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def model_new(inputs, state, init):
    (x,) = inputs
    block = pl.BlockSpec((ROWS, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(pl.cdiv(x.shape[0], ROWS),),
        in_specs=[block],
        out_specs=block,
    )(x)

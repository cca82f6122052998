import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

ROWS, COLS = 8, 128


def kernel(a, b, bias, out):
    product = jnp.dot(a[...], b[...], precision=jax.lax.Precision.HIGHEST, preferred_element_type=jnp.float32)
    out[...] = (product + bias[...]).astype(out.dtype)


def model_new(inputs, state, init):
    a, b, bias = inputs
    (m, k), n = a.shape, b.shape[1]
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), a.dtype),
        grid=(pl.cdiv(m, ROWS), pl.cdiv(n, COLS)),
        in_specs=[
            pl.BlockSpec((ROWS, k), lambda i, j: (i, 0)),
            pl.BlockSpec((k, COLS), lambda i, j: (0, j)),
            pl.BlockSpec((1, COLS), lambda i, j: (0, j)),
        ],
        out_specs=pl.BlockSpec((ROWS, COLS), lambda i, j: (i, j)),
    )(a, b, bias.reshape(1, n))

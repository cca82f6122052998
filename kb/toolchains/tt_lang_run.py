"""Runs one call of a TT-Lang candidate in tt-lang-sim, in the folder of the call: `tt_lang_run.py CANDIDATE`."""

import inspect
import math
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy
import torch
from allowed import brief_errors, load_candidate
from kb_call import Spec, numpy_dtype, read_call, write_outputs
from ttl.sim import block, diagnostics, greenlet_scheduler, program, ttnnsim
from ttl.sim import math as operations
from ttl.sim import ttl as language
from ttl.sim.dfb import Block
from ttl.sim.ttnnsim import Tensor

OPERATORS = re.compile(r"__(r?(add|sub|mul|truediv|floordiv|mod|pow|matmul)|neg|abs|setitem)__")
METHODS = [
    "shape", "logical_shape", "dtype", "layout", "wait", "reserve", "push", "pop", "store", "wait_all", "add",
    "if_src", "if_dst", "src", "dst", "append",
]  # fmt: skip
"""Attributes of tensors, buffers, blocks and transfers."""


def in_kernels_only(operator: Callable[..., Any], candidate: str) -> Callable[..., Any]:
    """An operator of tensors that a candidate cannot use: kernels compute with blocks, into which they copy tensors."""

    def checked(*operands: Any) -> Any:
        if inspect.currentframe().f_back.f_code.co_filename == candidate:
            raise SystemExit("a tensor is used outside of kernels: copy it into blocks, and compute with them")
        return operator(*operands)

    return checked


def stop(name: str, message: str, _: str, line: int, __: int = 1) -> None:
    """End the program with an error in a kernel. The simulator's own function needs a file that its package lacks."""
    raise SystemExit(f"{name}: {message} (line {line})")


def on_device(array: Any, name: str) -> Tensor:
    """A tensor of at least two dimensions, padded with zeros to whole tiles; `name` is its data type."""
    array = array.reshape((1,) * (2 - array.ndim) + array.shape)
    floats = array if array.dtype.kind in "iub" else array.astype(numpy.float32)
    tensor = ttnnsim.from_torch(torch.from_numpy(floats), dtype=getattr(ttnnsim, name, None))
    tensor.logical_shape = array.shape
    return tensor


def full(shape: tuple[int, ...], fill_value: float) -> Tensor:
    """A float32 tensor of equal values, with zeros in the padding."""
    return on_device(numpy.full(shape, fill_value, numpy.float32), "float32")


def fill_implicit_tile_padding(tensor: Tensor, fill_value: float) -> Tensor:
    """A copy of a tensor with another value in the padding."""
    rows, columns = tensor.logical_shape[-2:]
    data = tensor.to_torch()
    filled = torch.full_like(data, fill_value)
    filled[..., :rows, :columns] = data[..., :rows, :columns]
    padded = Tensor(filled, dtype=tensor.dtype)
    padded.logical_shape = tensor.logical_shape
    return padded


def functions_of(module: Any) -> dict[str, Any]:
    """The functions that a module of the simulator defines."""
    return {k: v for k, v in vars(module).items() if isinstance(v, FunctionType) and v.__module__ == module.__name__}


MODULES: dict[str, dict[str, Any]] = {
    "math": vars(math),
    "ttl": {k: v for k, v in vars(language).items() if k not in ("Program", "math", "block")},
    "ttl.math": functions_of(operations),
    "ttl.block": functions_of(block),
    "ttnn": {
        **{name: getattr(ttnnsim, name) for name in ("bfloat16", "float32", "TILE_LAYOUT")},
        "Tensor": object,
        "full": full,
        "fill_implicit_tile_padding": fill_implicit_tile_padding,
    },
}


def main(candidate: Path) -> None:
    warnings.filterwarnings("error", message="Kernel defines|Total DataflowBuffer capacity")
    for name in filter(OPERATORS.fullmatch, list(vars(Tensor))):
        setattr(Tensor, name, in_kernels_only(getattr(Tensor, name), str(candidate)))
    for module in (diagnostics, greenlet_scheduler, program):
        module.print_diagnostic_error = stop
    Tensor.__repr__ = Block.__repr__ = object.__repr__  # no values in texts, from which the host could read them
    call = read_call()
    inputs, state = ([on_device(array, str(array.dtype)) for array in arrays] for arrays in (call.inputs, call.state))
    unwritten = [numpy.full(spec.shape, math.nan).astype(numpy_dtype(spec.dtype)) for spec in call.outputs]
    outputs = [on_device(array, str(array.dtype)) for array in unwritten]
    names = [*METHODS, "math", "block", *(name for module in MODULES.values() for name in module)]
    with brief_errors(candidate):
        load_candidate(candidate, MODULES, attributes=names)(inputs, state, call.init, list(outputs))
    write_outputs(call, [on_host(tensor, spec) for tensor, spec in zip(outputs, call.outputs, strict=True)])


def on_host(tensor: Tensor, spec: Spec) -> Any:
    rows, columns = tensor.logical_shape[-2:]
    data = tensor.to_torch()[..., :rows, :columns].numpy()
    return data.astype(numpy_dtype(spec.dtype)).reshape(spec.shape)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

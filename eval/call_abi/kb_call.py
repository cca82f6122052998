"""One call of a candidate that is run by a Python program: reads its arguments from files, and writes its outputs.

A toolchain's `run` command starts the program in the folder of the call. It needs numpy, and for bfloat16 ml_dtypes.
"""

import math
from pathlib import Path
from typing import Any, NamedTuple


class Spec(NamedTuple):
    shape: tuple[int, ...]
    dtype: str
    """As in numpy and torch; bfloat16 is ml_dtypes'."""


class Call(NamedTuple):
    inputs: list[Any]
    """numpy arrays, in the order of `forward`."""
    state: list[Any]
    init: list[float]
    outputs: list[Spec]


def numpy_dtype(name: str) -> Any:
    import numpy

    if name == "bfloat16":
        import ml_dtypes

        return numpy.dtype(ml_dtypes.bfloat16)
    return numpy.dtype(name)


def read_call() -> Call:
    """The call in the current folder; see eval.worker.adapters.command.CommandCandidate."""
    import numpy

    call = Call([], [], [], [])
    for line in Path("call.txt").read_text(encoding="ascii").splitlines():
        kind, *rest = line.split()
        if kind == "init":
            call.init.extend(map(float, rest))
            continue
        number, dtype, *sizes = rest
        spec = Spec(tuple(map(int, sizes)), dtype)
        if kind == "output":
            call.outputs.append(spec)
            continue
        data = numpy.fromfile(f"{kind}_{number}.bin", numpy_dtype(dtype), math.prod(spec.shape))
        (call.inputs if kind == "input" else call.state).append(data.reshape(spec.shape))
    return call


def write_outputs(call: Call, outputs: Any) -> None:
    """Write the outputs, an array or several. Raises SystemExit if their number, shapes or types are wrong."""
    import numpy

    given = list(outputs) if isinstance(outputs, tuple | list) else [outputs]
    if len(given) != len(call.outputs):
        raise SystemExit(f"bad output: {len(given)} outputs; the reference gives {len(call.outputs)}")
    for number, (output, spec) in enumerate(zip(given, call.outputs, strict=True)):
        array = numpy.asarray(output)
        if (array.shape, array.dtype) != (spec.shape, numpy_dtype(spec.dtype)):
            got = f"{array.dtype}{list(array.shape)}"
            raise SystemExit(
                f"bad output: output {number} is {got}; the reference gives {spec.dtype}{list(spec.shape)}"
            )
        array.tofile(f"output_{number}.bin")

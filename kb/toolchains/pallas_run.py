"""Runs one call of a Pallas candidate in the folder of the call: `pallas_run.py CANDIDATE TOPOLOGY...`.

The candidate is traced once. The program that results may contain kernels and operations that only move data. It is
lowered for a TPU of the first topology that is not empty, compiled if libtpu is installed, and interpreted here.
"""

import functools
import math
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import jax
import numpy
from allowed import brief_errors, load_candidate
from jax.experimental import pallas, topologies
from jax.experimental.pallas import tpu
from jax.extend.core import Literal
from jax.sharding import AbstractDevice, AbstractMesh, SingleDeviceSharding
from kb_call import Spec, read_call, write_outputs

LAYOUT = [
    "broadcast_in_dim", "concatenate", "convert_element_type", "copy", "iota", "pad", "reshape", "rev", "slice",
    "split", "squeeze", "stack", "tile", "transpose", "unstack",
]  # fmt: skip
"""Operations that may stand outside of kernels: they move and convert data."""
RACE = "RACE DETECTED"
"""What the interpreter prints if two accesses to memory are not ordered."""


def members(module: Any, *left_out: str) -> dict[str, Any]:
    """The members of a module but those left out, and JAX's own operations (`_p`), which could be replaced."""
    return {k: v for k, v in vars(module).items() if k not in left_out and not k.endswith("_p")}


MODULES: dict[str, dict[str, Any]] = {
    "functools": {"partial": functools.partial, "reduce": functools.reduce},
    "math": members(math),
    "jax": {name: getattr(jax, name) for name in ("Array", "ShapeDtypeStruct", "jit", "named_scope", "vmap")},
    "jax.lax": members(jax.lax, "platform_dependent"),
    "jax.nn": members(jax.nn),
    "jax.numpy": members(jax.numpy, "load", "save", "savez"),
    "jax.experimental": {},
    "jax.experimental.pallas": members(pallas),
    "jax.experimental.pallas.tpu": members(tpu),
}


def evaluate(
    jaxpr: Any, constants: Sequence[Any], arguments: Sequence[Any], *, interpret: Any
) -> tuple[list[Any], int]:
    """Compute a traced program, whose kernels are interpreted as `interpret` says.

    Returns:
        Its outputs, and the number of kernels.

    Raises:
        SystemExit: it computes outside of kernels, or a kernel that is not interpreted needs too much memory.
    """
    values = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*constants, *arguments), strict=True))

    def value(variable: Any) -> Any:
        return variable.val if isinstance(variable, Literal) else values[variable]

    kernels = 0
    for equation in jaxpr.eqns:
        operation, given = equation.primitive, list(map(value, equation.invars))
        name, parameters = operation.name, equation.params
        if name == "jit":
            inner = parameters["jaxpr"]
            results, launched = evaluate(inner.jaxpr, inner.consts, given, interpret=interpret)
            kernels += launched
        elif name == "pallas_call":
            if not interpret:
                check_memory(parameters["jaxpr"])
            results = operation.bind(*given, **{**parameters, "interpret": interpret})
            kernels += 1
        elif name in LAYOUT:
            results = operation.bind(*given, **parameters)
        else:
            raise SystemExit(f"{name} is computed outside of kernels")
        values.update(zip(equation.outvars, results if operation.multiple_results else [results], strict=True))
    return list(map(value, jaxpr.outvars)), kernels


def check_memory(kernel: Any) -> None:
    """Refuse a kernel whose blocks and scratch memory alone exceed VMEM; only libtpu knows what else it needs."""
    inside = [v.aval for v in kernel.invars if str(v.aval.memory_space) in ("default", "vmem")]
    needed = sum(math.prod(aval.shape) * aval.dtype.itemsize for aval in inside)
    if needed > (size := tpu.get_tpu_info().vmem_capacity_bytes):
        raise SystemExit(f"RESOURCE_EXHAUSTED: blocks and scratch memory of {needed} bytes exceed a VMEM of {size}")


def chip_of(topology: str) -> AbstractMesh:
    """One chip of a topology such as `v6e:2x2`, by which JAX looks up what the chip can do."""
    chip = topology.partition(":")[0]
    kind = chip.replace("tpu", "TPU") if chip.startswith("tpu") else f"TPU {chip}"
    return AbstractMesh((1,), ("chips",), abstract_device=AbstractDevice(kind, 1, "tpu"))


def check_for_chip(program: Any, arguments: Sequence[Any], topology: str) -> None:
    """Lower a program for a chip, and compile it if libtpu is installed."""
    if not find_spec("libtpu"):
        jax.jit(program).trace(*arguments).lower(lowering_platforms=("tpu",))
        return
    placed = SingleDeviceSharding(topologies.get_topology_desc(topology, "tpu").devices[0])
    shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=placed) for a in arguments]
    jax.jit(program).lower(*shapes).compile()


def main(candidate: Path, topology: str) -> None:
    call = read_call()
    arguments = (*call.inputs, *call.state)
    with brief_errors(candidate):
        model_new = load_candidate(candidate, MODULES)

        def program(*arguments: Any, interpret: Any = False) -> list[Any]:
            outputs, kernels = evaluate(traced.jaxpr, traced.consts, arguments, interpret=interpret)
            if not kernels:
                raise SystemExit("it launches no kernel: it calls no pallas_call")
            return outputs

        with jax.sharding.use_abstract_mesh(chip_of(topology)):
            traced = jax.make_jaxpr(lambda inputs, state: model_new(inputs, state, call.init))(call.inputs, call.state)
            check_for_chip(program, arguments, topology)
        interpreted = functools.partial(program, interpret=tpu.InterpretParams(detect_races=True))
        with redirect_stdout(StringIO()) as said:
            outputs = jax.jit(interpreted).lower(*arguments).compile()(*arguments)
    if RACE in said.getvalue():
        raise SystemExit(said.getvalue())
    write_outputs(call, list(map(widened, outputs, call.outputs)))


def widened(output: Any, spec: Spec) -> Any:
    """An output for the judge: TPUs have no integers of 64 bits, so JAX gives shorter ones."""
    array = numpy.asarray(output)
    return array.astype(numpy.int64) if (array.dtype, spec.dtype) == (numpy.int32, "int64") else array


if __name__ == "__main__":
    main(Path(sys.argv[1]), next(filter(None, sys.argv[2:])))

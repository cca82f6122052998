"""The host's part of a run: lays out tensors in the outer memory, and fills the argument table."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.unseen.chip import Chip
from benchmarks.unseen.machine import Machine

DTYPES = ("float32", "int32", "float16")
"""Of tensors."""


class Result(NamedTuple):
    outputs: list[Any]
    cycles: int


def simulate(
    chip: Chip,
    program: str,
    tensors: Sequence[Any],
    init: Sequence[float],
    outputs: Sequence[tuple[Sequence[int], str]],
) -> Result:
    """Run a program.

    Args:
        tensors: Inputs and parameters, as numpy arrays.
        init: The numbers given to the model.
        outputs: The shape and the dtype of each output.

    Raises:
        Fault: the program ends with a fault.
        ValueError: a tensor's dtype is none of DTYPES.
    """
    results = [np.full(shape, -1 if dtype == "int32" else math.nan, dtype) for shape, dtype in outputs]
    given = [np.ascontiguousarray(tensor) for tensor in tensors]
    first = chip.host.outputs_first
    order = [*results, *given] if first else [*given, *results]
    if unknown := [tensor.dtype.name for tensor in order if tensor.dtype.name not in DTYPES]:
        raise ValueError(f"there are no {unknown[0]} tensors on this chip; there are {', '.join(DTYPES)}")
    memory, addresses = bytearray(), []
    for tensor in order:
        addresses.append(len(memory))
        memory += tensor.tobytes()
        memory += bytes(-len(memory) % chip.host.tensor_bytes)
    entries = [[address, *tensor.shape] for address, tensor in zip(addresses, order, strict=True)]
    if chip.host.address_last:
        entries = [[*sizes, address] for address, *sizes in entries]
    numbers = np.array(init, np.float32).view(np.int32).tolist()
    table = [word for words in (*entries, numbers) for word in words]
    cycles = Machine(chip, np.frombuffer(memory, np.uint8), table).run(program)
    places = addresses[: len(results)] if first else addresses[len(given) :]
    found = zip(results, places, strict=True)
    return Result([np.frombuffer(memory, t.dtype, t.size, place).reshape(t.shape) for t, place in found], cycles)


class Places(NamedTuple):
    """Places in the argument table; tensors are inputs, parameters and outputs, in this order."""

    addresses: list[int]
    sizes: list[list[int]]
    init: int
    """Of the first number given to the model."""


def argument_places(chip: Chip, given: Sequence[int], outputs: Sequence[int]) -> Places:
    """The places in the argument table, from the numbers of dimensions of the tensors."""
    dimensions = [*outputs, *given] if chip.host.outputs_first else [*given, *outputs]
    addresses, sizes, place = [], [], 0
    for count in dimensions:
        addresses.append(place + count * chip.host.address_last)
        sizes.append([place + (not chip.host.address_last) + i for i in range(count)])
        place += count + 1
    if chip.host.outputs_first:
        first = len(outputs)
        addresses, sizes = addresses[first:] + addresses[:first], sizes[first:] + sizes[:first]
    return Places(addresses, sizes, place)

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
    results = [
        np.full(shape, -1, dtype) if dtype == "int32" else np.full(shape, math.nan, dtype) for shape, dtype in outputs
    ]
    given = [np.ascontiguousarray(tensor) for tensor in tensors]
    order = [*results, *given] if chip.host.outputs_first else [*given, *results]
    if unknown := [str(tensor.dtype) for tensor in order if tensor.dtype.name not in DTYPES]:
        raise ValueError(f"{unknown[0]} tensors are not supported; {', '.join(DTYPES)} are")
    table: list[int] = []
    parts: list[bytes] = []
    for tensor in order:
        address = [sum(map(len, parts))]
        table += [*tensor.shape, *address] if chip.host.address_last else [*address, *tensor.shape]
        parts.append(tensor.tobytes())
        parts.append(bytes(-tensor.nbytes % chip.host.tensor_bytes))
    table += np.array(init, np.float32).view(np.int32).tolist()
    outer = np.frombuffer(bytearray(b"".join(parts)), np.uint8)
    cycles = Machine(chip, outer, table).run(program)
    places = argument_places(chip, [tensor.ndim for tensor in given], [tensor.ndim for tensor in results])
    found = [table[address] for address in places.addresses[len(given) :]]
    return Result(
        [
            np.frombuffer(outer, result.dtype, result.size, address).reshape(result.shape)
            for result, address in zip(results, found, strict=True)
        ],
        cycles,
    )


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

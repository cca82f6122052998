"""Values at which a comparison turns: zeros, numbers that the task compares with, and values of other tensors."""

import ast
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from eval.oracle.operations import numbers_in
from eval.oracle.reference import Reference, is_float, with_values

SHARE = 8
"""One value in this many becomes such a value."""
BEYOND = 16
"""The range of n values ends this many n-th parts of it beyond their smallest and largest; that of integers there."""
FEW = 4096
"""A parameter or buffer with more values holds no borders."""


def put_edges(reference: Reference, inputs: Sequence[Any], changed: Sequence[bool], seed: int) -> list[Any]:
    """The inputs, some values of those to be changed at the edge of a comparison.

    None leaves the range of its tensor.
    """
    tensors = [x for x in (*inputs, *reference.state.values()) if isinstance(x, torch.Tensor)]
    generator = torch.Generator(reference.device).manual_seed(seed)
    constants = _constants(reference, inputs)

    def with_edges(x: torch.Tensor) -> torch.Tensor:
        alike = [y for y in tensors if y is not x and y.numel() and is_float(y) == is_float(x)]
        others = [y for y in alike if y.shape == x.shape or y.numel() <= FEW]
        return with_values(x, lambda values: _put(values, others, constants, generator))

    return [with_edges(x) if change and x.numel() else x for x, change in zip(inputs, changed, strict=True)]


def _constants(reference: Reference, inputs: Sequence[Any]) -> list[float]:
    """The numbers in the task's file, and those that its operations get: computed, or a module's own. Both signs."""
    literals = (node.value for node in ast.walk(ast.parse(reference.task.source)) if isinstance(node, ast.Constant))
    numbers = {*numbers_in(partial(reference.native, inputs)), *(x for x in literals if isinstance(x, int | float))}
    return sorted({sign * float(number) for number in numbers for sign in (1, -1)})


def _put(
    x: torch.Tensor, others: Sequence[torch.Tensor], constants: Sequence[float], generator: torch.Generator
) -> torch.Tensor:
    low, high = float(x.min()), float(x.max())
    beyond = BEYOND * (high - low) / x.numel() if is_float(x) else 0.0
    low, high = low - beyond, high + beyond
    choices = [y.to(x.dtype) if y.shape == x.shape else _drawn(y.to(x.dtype), x, generator) for y in others]
    if is_float(x):
        zeros = torch.zeros_like(x)
        choices += [zeros, -zeros]
    named = [c for c in constants if low <= c <= high and (c if is_float(x) else c.is_integer())]
    if named:
        choices.append(_drawn(torch.tensor(named, dtype=torch.float64, device=x.device).to(x.dtype), x, generator))
    result = x.clone()
    for number, edges in enumerate(choices):
        part = torch.randint(SHARE * len(choices), x.shape, generator=generator, device=x.device) == number
        result = torch.where(part & (edges >= low) & (edges <= high), edges, result)
    return result


def _drawn(values: torch.Tensor, x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """For each element of x one of some values."""
    places = torch.randint(values.numel(), x.shape, generator=generator, device=x.device)
    return values.reshape(-1)[places]

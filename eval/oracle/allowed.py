"""Describe a task to an author: its tensors, and in numbers which error the judge allows its outputs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch

from eval.oracle.cases import make_case
from eval.oracle.reference import Reference, interface_of
from eval.oracle.sizes import count_elements, smaller_sizes
from eval.oracle.tolerance import Tolerance, roundings_of, slack_of
from kb.errors import TaskError
from kb.types.kernels import AllowedError, Interface, Task

SMALL, MOST = 1 << 14, 1 << 20
"""Elements of all tensors at the sizes of the case, and the most at which it is drawn."""


def described(task: Task) -> Interface:
    """The interface of a task with the errors allowed. Raises TaskError if the reference fails."""
    try:
        with _without_compiler():
            return interface_of(task).model_copy(update={"allowed": allowed_errors(task)})
    except TaskError:  # it may use the compiler itself
        return interface_of(task).model_copy(update={"allowed": allowed_errors(task)})


@contextmanager
def _without_compiler() -> Iterator[None]:
    """Keeps torch from loading its compiler, which takes it seconds, to exempt functions that nothing compiles here."""
    name = "torch._dynamo"
    if name in sys.modules:
        yield
        return
    stub: Any = ModuleType(name)
    stub.disable = lambda function, *_, **__: function
    sys.modules[name] = torch._dynamo = stub  # noqa: SLF001 - it imports this when a function is first called
    try:
        yield
    finally:
        del sys.modules[name], torch._dynamo  # noqa: SLF001


def allowed_errors(task: Task) -> tuple[AllowedError, ...]:
    """The errors allowed for the floating-point outputs, in order; empty if there is no small case.

    The same task gives the same numbers, but for those of sums whose order the machine decides.
    """
    try:
        reference = Reference(task, seed=0, sizes=smaller_sizes(task, elements=SMALL, odd=None))
        if count_elements(reference.interface()) > MOST:
            return ()
        case = make_case("small sizes", reference, reference.inputs(0))
    except TaskError:
        return ()
    return tuple(
        _stated(f"output{place}", tolerance)
        for place, tolerance in enumerate(case.tolerances)
        if tolerance.dtype.is_floating_point
    )


def _stated(name: str, tolerance: Tolerance) -> AllowedError:
    ratios = (tolerance.allowed / tolerance.expected.abs()).flatten()
    ratios = ratios[ratios.isfinite() & (ratios > 0)]
    median, least = (float(ratios.median()), float(ratios.min())) if ratios.numel() else (0.0, 0.0)
    return AllowedError(
        output=name,
        roundings=roundings_of(tolerance.dtype),
        rounding=torch.finfo(tolerance.dtype).eps,
        slack=slack_of(tolerance.dtype),
        median=median,
        least=least,
        biased=tolerance.bias != float("inf"),
    )

"""Describe a task to an author: its tensors, and in numbers which error the judge allows its outputs."""

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
    return interface_of(task).model_copy(update={"allowed": allowed_errors(task)})


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

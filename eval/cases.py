"""The cases on which a candidate is tried (the task's sizes and values, and others), and the error allowed."""

import copy
import math
import random
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import torch

from eval.reference import Reference, Tensors, as_tuple, integer_constants, is_float, same_bits
from kb.errors import TaskError
from kb.model.evidence import CaseResult, Outcome
from kb.model.kernels import Interface, Task

SMALLEST_SIZES = (16, 8, 4, 2)
"""Lower bounds for shrinking sizes, tried in this order: the smallest sizes may be kernel widths or group counts."""
SHRINKING_STEPS = 24
ODD_CHOICES = 4
TOLERATED_EXCESS = 16
"""Factor by which a case may exceed the wanted number of elements, for tasks with sizes that are not constants."""
EXACT_EPSILON = 1e-5
"""Types with a smaller epsilon may accumulate in their own precision, in any order; others accumulate in float32."""
ORDER_SLACK, ROUNDING_SLACK = 16.0, 4.0
"""Error allowed for fine and coarse types, as a multiple of the reference's largest error in its own precision."""


def _signed(x: torch.Tensor) -> torch.Tensor:
    return (x.float().mean() - x) * 4


def _wide(x: torch.Tensor) -> torch.Tensor:
    return x * torch.exp2(torch.randint(-6, 7, x.shape, device=x.device).to(x.dtype))


VALUES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "given": lambda x: x,
    "signed": _signed,
    "wide": _wide,
    "small": lambda x: x * 2.0**-12,
}
"""Kinds of floating-point inputs: as the task draws them, with both signs around zero, over four orders of magnitude,
and so small that an epsilon added to a divisor dominates."""


@dataclass(frozen=True)
class Case:
    """Inputs with the expected outputs."""

    name: str
    reference: Reference
    inputs: list[Any]
    expected: Tensors
    """Expected outputs, in float64 if the reference gives floating-point outputs."""
    native_error: tuple[float, ...]
    """For each output, the largest absolute error of the reference in its own precision."""
    dtypes: tuple[torch.dtype, ...]

    @property
    def is_finite(self) -> bool:
        """Whether the reference is finite in both precisions; otherwise no candidate can be compared with it."""
        return all(map(math.isfinite, self.native_error)) and all(bool(torch.isfinite(t).all()) for t in self.expected)

    def compare(self, outputs: Sequence[torch.Tensor]) -> CaseResult:
        """Compare a candidate's outputs, whose shapes and types are right, with the expected ones."""
        worst, ratio, detail = 0.0, 0.0, ""
        for output, expected, error in zip(outputs, self.expected, self.native_error, strict=True):
            if not bool(torch.isfinite(output).all()):
                return CaseResult(name=self.name, outcome=Outcome.INCORRECT, detail="an output is not finite")
            if output.numel():
                errors = _errors(output, expected)
                worst = max(worst, float(errors.max()))
                ratios = errors / allowance(expected, error, output.dtype)
                ratio = max(ratio, float(ratios.max()))
                if bool((wrong := ~(ratios <= 1)).any()):
                    detail = f"{ratio:.3g} times the error allowed; {_first_wrong(output, expected, wrong)}"
        outcome = Outcome.INCORRECT if detail else Outcome.PASSED
        return CaseResult(name=self.name, outcome=outcome, max_error=worst, error_ratio=ratio, detail=detail)

    def near(self, outputs: Sequence[torch.Tensor], native: Any) -> bool:
        """Whether the outputs differ from those of the reference on the same inputs by at most twice the allowance."""
        return all(
            _all_within(error, output, other)
            or bool((_errors(output, other) <= 2 * allowance(other, error, output.dtype)).all())
            for output, other, error in zip(outputs, as_tuple(native), self.native_error, strict=True)
        )


def _all_within(native_error: float, output: torch.Tensor, other: torch.Tensor) -> bool:
    """A quick check that spares most outputs the slow one; False if a difference is NaN."""
    if not output.is_floating_point():
        return False
    return bool(((output - other).abs_() <= _slack(output.dtype) * native_error).all())


def _first_wrong(output: torch.Tensor, expected: torch.Tensor, wrong: torch.Tensor) -> str:
    """Describe how many elements are wrong, and the first of them."""
    place = tuple(wrong.nonzero()[0].tolist())
    share = f"{int(wrong.sum())} of {wrong.numel()} elements are wrong"
    return f"{share}, the first at {list(place)}: {float(output[place]):.6g}, not {float(expected[place]):.6g}"


def allowance(expected: torch.Tensor, native_error: float, dtype: torch.dtype) -> torch.Tensor:
    """Absolute error allowed per element: rounding of the result plus a multiple of the reference's own error."""
    if not dtype.is_floating_point:
        return torch.full_like(expected, 0.25, dtype=torch.float64)
    epsilon = torch.finfo(dtype).eps
    magnitude = expected.abs().double()
    finite = magnitude.nan_to_num(posinf=0.0)  # an infinite element must not widen the tolerance of the others
    typical = float(finite.square().mean().sqrt()) if magnitude.numel() else 0.0
    rounding = ROUNDING_SLACK * epsilon * (magnitude + typical)
    return _slack(dtype) * native_error + rounding + torch.finfo(torch.float32).tiny


def _slack(dtype: torch.dtype) -> float:
    return ORDER_SLACK if torch.finfo(dtype).eps < EXACT_EPSILON else ROUNDING_SLACK


def cases(reference: Reference, *, sizes: Mapping[str, int], kinds: Iterable[str] = VALUES) -> Iterator[Case]:
    """Each kind of values at the sizes of `reference`, except kinds on which the reference is not finite."""
    where = ", ".join(f"{name}={size}" for name, size in sizes.items()) or "sizes as given"
    for kind in kinds:
        change = VALUES[kind]
        inputs = reference.inputs(secrets.randbits(62))
        if kind == "given" or any(map(is_float, inputs)):
            changed = [change(x) if is_float(x) else x for x in inputs]
            case = make_case(f"{where}; {kind} values", reference, changed)
            if case.is_finite:
                yield case


def given_case(name: str, reference: Reference) -> Case:
    """The task at the sizes and with the values of its file.

    Raises:
        TaskError: the reference fails, is not finite, or gives the same outputs on other inputs.
    """
    case = make_case(name, reference, reference.inputs(secrets.randbits(62)))
    if not case.is_finite:
        raise TaskError("the reference gives infinities or NaN", hint="draw inputs on which it gives finite numbers")
    other = reference.native(reference.inputs(secrets.randbits(62)))
    if [t.shape for t in other] == [t.shape for t in case.expected] and case.compare(other).outcome is Outcome.PASSED:
        raise TaskError(
            "the reference gives the same outputs on other inputs, so a stored answer would pass",
            hint="draw inputs at random and make the outputs depend on them",
        )
    return case


def make_case(name: str, reference: Reference, inputs: list[Any]) -> Case:
    """Raises TaskError if the reference fails or changes its inputs."""
    given = copy.deepcopy(inputs)
    native = reference.native(inputs)
    if not all(same_bits(a, b) for a, b in zip(inputs, given, strict=True) if isinstance(a, torch.Tensor)):
        raise TaskError(
            "the reference changes its inputs in forward()", hint="make it compute on a copy, as with inplace=False"
        )
    expected = reference.oracle(inputs) if any(t.is_floating_point() for t in native) else native
    errors = [
        float((n.double() - e.double()).abs().max()) if n.numel() else 0.0
        for n, e in zip(native, expected, strict=True)
    ]
    return Case(name, reference, inputs, expected, tuple(errors), tuple(t.dtype for t in native))


Change = Callable[[dict[str, int]], dict[str, int]]


def smaller_sizes(task: Task, *, elements: int, odd: bool) -> dict[str, int] | None:
    """The task's sizes, divided until all its tensors together have at most about `elements` elements.

    Args:
        odd: Make the changed sizes odd and distinct if the task accepts that, otherwise make one of them odd. Then no
            block size divides them, and a candidate that confuses two sizes fails.

    Returns:
        The sizes by name, or None if the file has no sizes to change or the reference fails at all smaller sizes.
    """
    given = integer_constants(task)
    fewest: tuple[float, dict[str, int]] = (math.inf, {})
    tried: list[tuple[Change, dict[str, int]]] = []
    changes: list[Change] = [_all_odd, *(partial(_one_odd, name) for name in given)] if odd else [dict]
    for change, smallest, step in product(changes, SMALLEST_SIZES, range(1, SHRINKING_STEPS)):
        large = {name: max(smallest, value // 2**step) for name, value in given.items() if value > smallest}
        if (change, large) in tried:
            continue
        tried.append((change, large))
        sizes = change(large)
        try:
            interface = Reference(task, seed=0, sizes=sizes, device="meta").interface()
        except TaskError:
            continue
        if (count := count_elements(interface)) <= elements:
            return sizes
        fewest = min(fewest, (count, sizes), key=lambda found: found[0])
    return fewest[1] if fewest[0] <= elements * TOLERATED_EXCESS else None


def _all_odd(sizes: dict[str, int]) -> dict[str, int]:
    """Make all sizes odd and distinct, in an unpredictable way."""
    steps = random.SystemRandom().sample(range(len(sizes) + ODD_CHOICES), len(sizes))
    return {name: (size | 1) + 2 * step for (name, size), step in zip(sizes.items(), sorted(steps), strict=True)}


def _one_odd(name: str, sizes: dict[str, int]) -> dict[str, int]:
    return {**sizes, name: sizes[name] | 1} if name in sizes else sizes


def count_elements(interface: Interface) -> int:
    tensors = (*interface.inputs, *interface.state, *interface.outputs)
    return sum(torch.Size(t.shape).numel() for t in tensors)


def _errors(output: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """Absolute difference per element; for integers at least 1 if they differ, even beyond the precision of float64."""
    errors = (output.double() - expected.double()).abs()
    return errors if output.is_floating_point() else torch.where(output == expected, 0.0, errors.clamp(min=1.0))

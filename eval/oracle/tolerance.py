"""The error allowed for each element: by its sensitivity and the reference's own error."""

import math
from dataclasses import dataclass
from functools import cached_property

import torch

from eval.oracle.reference import PERTURBATION, Tensors

EXACT_EPSILON = 1e-5
"""Types with a smaller epsilon may accumulate in their own precision, in any order; others accumulate in float32."""
FINE_ROUNDINGS, COARSE_ROUNDINGS = 256.0, 4.0
"""Roundings allowed in fine and coarse types. The error of a serial sum of n terms grows like the square root of n
(Higham 2002, section 4.2), so 256 allow tens of thousands of terms; half precision is 8,192 times coarser."""
FINE_SLACK, COARSE_SLACK = 16.0, 4.0
"""Error allowed for fine and coarse types, as a multiple of the reference's own error in its own precision."""
LOST = 0.25
"""Relative error with which the reference has lost a value: it has lost all smaller ones, too."""
EXCUSED = 4096
"""One element in this many may exceed its own tolerance: its sensitivity may seem small by chance."""
INTEGER_ERROR = 0.25
EXPONENTS = 1100
"""Exponents of float64 lie between minus and plus this number."""


@dataclass(frozen=True)
class Tolerance:
    """The error allowed for one output."""

    allowed: torch.Tensor
    """Absolute error per element; infinite for an integer that depends on rounding."""
    expected: torch.Tensor
    dtype: torch.dtype
    native_error: float
    """Largest absolute error of the reference in its own precision."""
    overall: float = 0.0
    """Error allowed for an excused element: that of a typical scale."""

    def compare(self, output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """For each element, its absolute error and that as a multiple of the error allowed; above 1 or NaN is wrong."""
        errors = _errors(output, self.expected).to(self.allowed.dtype)
        ratios = errors / self.allowed
        self._excuse(ratios, errors, of=errors.numel())
        return errors, ratios

    def near(self, output: torch.Tensor, native: torch.Tensor) -> bool:
        """Whether an output is as near to the reference's on other inputs as their values' magnitudes allow."""
        if not self.dtype.is_floating_point:
            differing = int((output != native).sum())
            return differing <= COARSE_SLACK * int(self.allowed.isinf().sum()) + output.numel() // EXCUSED
        error = (output - native).abs_()
        far = ~(error <= 2 * _roundings(self.dtype) * torch.finfo(self.dtype).eps * native.abs())
        if not bool(far.any()):
            return True
        native = native[far].double()
        errors = _errors(output[far], native)
        ratios = errors / (2 * self._allowed_at(native))
        self._excuse(ratios, errors / 2, of=output.numel())
        return bool((ratios <= 1).all())

    def _excuse(self, ratios: torch.Tensor, errors: torch.Tensor, *, of: int) -> None:
        """Measure elements that exceed their tolerance by that of the whole output, if they are few."""
        beyond = ~(ratios <= 1)
        if self.dtype.is_floating_point and 0 < int(beyond.sum()) <= of // EXCUSED:
            ratios[beyond] = errors[beyond] / self.overall

    def _allowed_at(self, values: torch.Tensor) -> torch.Tensor:
        """The largest error allowed for the values of the nearest magnitude, if possible not a smaller one."""
        places = torch.searchsorted(self._magnitudes[0], _exponents(values)).clamp_(max=len(self._magnitudes[0]) - 1)
        return self._magnitudes[1][places]

    @cached_property
    def _magnitudes(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The exponents of the expected values, and the largest error allowed for each."""
        largest = _largest(self.allowed, _exponents(self.expected))
        seen = largest.nonzero().flatten()
        return seen, largest[seen]


def no_change(expected: torch.Tensor, native: torch.Tensor) -> torch.Tensor:
    """What `add_changes` starts with: for each element no change, or whether an integer depends on rounding."""
    if not native.is_floating_point():
        return native != expected
    return torch.zeros_like(expected, dtype=torch.float64 if native.dtype == torch.float64 else torch.float32)


def add_changes(changes: Tensors, expected: Tensors, perturbed: Tensors) -> None:
    """Keep the largest change of each element of the outputs, `perturbed` being those for slightly changed inputs."""
    for largest, output, other in zip(changes, expected, perturbed, strict=True):
        if largest.dtype is torch.bool:
            largest |= other != output
        else:
            torch.maximum(largest, (other - output).abs_().to(largest.dtype), out=largest)


def tolerance_of(expected: torch.Tensor, native: torch.Tensor, changes: torch.Tensor) -> Tolerance:
    """The error allowed for one output.

    The error allowed for an element is a number of roundings of its scale, which is its value plus its sensitivity: the
    change of the output for relative changes of the inputs, divided by the latter. So a sum that cancels may have the
    rounding errors of its terms. Added is a multiple of the largest error that `native` has on elements of that scale.

    Args:
        native: The output of the reference in its own precision.
        changes: See `add_changes`. They become its scale.
    """
    dtype = native.dtype
    if not native.numel():
        return Tolerance(torch.zeros_like(expected), expected, dtype, 0.0)
    if not dtype.is_floating_point:
        return Tolerance(torch.where(changes, math.inf, INTEGER_ERROR), expected, dtype, 0.0)
    scale = changes.div_(PERTURBATION).add_(expected.abs())
    errors = _errors(native, expected).to(scale.dtype)
    allowed = _errors_of_alike(errors, scale).mul_(_slack(dtype)).add_(_least(dtype))
    allowed += scale.mul_(_roundings(dtype) * torch.finfo(dtype).eps)
    overall = float(torch.linalg.vector_norm(allowed, dtype=torch.float64)) / math.sqrt(allowed.numel())
    return Tolerance(allowed, expected, dtype, float(errors.max()), overall)


def _errors_of_alike(errors: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """For each element, the largest error among elements of about its scale, and among those that are lost."""
    exponents = _exponents(scale)
    largest = _largest(errors, exponents)
    lost = largest >= LOST * torch.exp2(torch.arange(-EXPONENTS, EXPONENTS, device=errors.device).double() - 1)
    floor = float(largest[lost].max()) if bool(lost.any()) else 0.0
    near = torch.nn.functional.max_pool1d(largest[None], 3, stride=1, padding=1)[0].clamp_(min=floor)
    return near.to(errors.dtype)[exponents]


def _exponents(values: torch.Tensor) -> torch.Tensor:
    """Numbers of powers of two, from 0 on."""
    return torch.frexp(values).exponent.long().add_(EXPONENTS)


def _largest(values: torch.Tensor, exponents: torch.Tensor) -> torch.Tensor:
    """The largest value for each exponent."""
    table = torch.zeros(2 * EXPONENTS, dtype=values.dtype, device=values.device)
    return table.scatter_reduce_(0, exponents.flatten(), values.flatten(), "amax").double()


def _errors(output: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """Absolute difference per element; for integers at least 1 if they differ, even beyond the precision of float64."""
    if not output.is_floating_point():
        errors = (output.double() - expected.double()).abs_().clamp_(min=1.0)
        return torch.where(output == expected, 0.0, errors)
    return (output - expected.double()).abs_()


def _least(dtype: torch.dtype) -> float:
    """Numbers that may be taken for zero: those near and below the least normal ones."""
    limits = torch.finfo(dtype)
    return FINE_SLACK * torch.finfo(torch.float32).tiny + COARSE_ROUNDINGS * limits.smallest_normal * limits.eps


def _roundings(dtype: torch.dtype) -> float:
    return FINE_ROUNDINGS if torch.finfo(dtype).eps < EXACT_EPSILON else COARSE_ROUNDINGS


def _slack(dtype: torch.dtype) -> float:
    return FINE_SLACK if torch.finfo(dtype).eps < EXACT_EPSILON else COARSE_SLACK

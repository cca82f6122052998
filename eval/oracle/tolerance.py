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
BIAS_ROUNDINGS, BIAS_SLACK = 1.0, 4.0
"""Mean error allowed for a coarse type, relative to the values: one rounding of the type, because a constant may be
rounded once, and a multiple of the mean error that the reference has itself and of the standard error of the mean."""
COARSEST_BIAS = 2.0**-7
"""That one rounding for types coarser than bfloat16: nobody computes in them, so only the last rounding is theirs."""
INTEGER_ERROR = 0.25
EXPONENTS = 1100
"""Exponents of float64 lie between minus and plus this number."""


@dataclass(frozen=True)
class Tolerance:
    """The error allowed for one output."""

    allowed: torch.Tensor
    """Absolute error per element; infinite for an integer that depends on rounding, and where nothing is defined."""
    expected: torch.Tensor
    dtype: torch.dtype
    native_error: float
    """Largest absolute error of the reference in its own precision."""
    overall: float = 0.0
    """Error allowed for an excused element: that of a typical scale."""
    bias: float = math.inf
    """The mean error allowed, relative to the values."""
    undefined: bool = False
    """Whether the reference is infinite or NaN somewhere in one of its precisions."""
    ties: "Ties | None" = None
    """For indices: the values from which they were chosen."""

    def compare(self, output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """For each element, its absolute error and that as a multiple of the error allowed; above 1 or NaN is wrong."""
        errors = _errors(output, self.expected).to(self.allowed.dtype)
        if self.ties:
            errors.masked_fill_(self.ties.accept(output), 0.0)
        ratios = errors.masked_fill_(self.allowed.isinf(), 0.0) / self.allowed
        self._excuse(ratios, errors, of=errors.numel())
        return errors, ratios

    def biased(self, output: torch.Tensor) -> str:
        """In words, that the errors of all elements together have one direction; empty if they have not."""
        if math.isinf(self.bias):
            return ""
        mean, error = _bias(output, self.expected, self.allowed)
        if abs(mean) <= self.bias + BIAS_SLACK * error:
            return ""
        return f"the values are {100 * abs(mean):.2g} % too {'large' if mean > 0 else 'small'} on average"

    def near(self, output: torch.Tensor, native: torch.Tensor) -> bool:
        """Whether an output is as near to the reference's on other inputs as their values' magnitudes allow."""
        if not self.dtype.is_floating_point:
            differing = int((output != native).sum())
            unsure = self.ties.unsure if self.ties else int(self.allowed.isinf().sum())
            return differing <= COARSE_SLACK * unsure + output.numel() // EXCUSED
        excess = (output - native).abs_() - native.abs().mul_(2 * _roundings(self.dtype) * torch.finfo(self.dtype).eps)
        far = ~(excess <= 0)  # also infinities
        if not bool(far.any()):
            return True
        output, native = (_bounded(x[far], self.dtype) for x in (output, native))
        errors = _errors(output, native).masked_fill_(output.isnan() & native.isnan(), 0.0)
        ratios = errors / (2 * self._allowed_at(native))
        self._excuse(ratios, errors / 2, of=far.numel())
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


@dataclass(frozen=True)
class Ties:
    """The values from which an output's indices were chosen: an index is right if its value is that of the right one.

    Each value has its own tolerance, so two that are nearer than both tolerances are equal.
    """

    values: Tolerance
    indices: torch.Tensor
    """The right ones; their number of dimensions is that of the values."""
    dim: int
    distinct: bool
    """Whether an index may be there only once along the dimension."""
    unsure: int
    """How many of them depend on rounding."""

    def accept(self, output: torch.Tensor) -> torch.Tensor:
        """For each index of an output, whether it is right."""
        chosen = output.reshape(self.indices.shape).long()
        size = self.values.expected.shape[self.dim]
        right = (chosen >= 0) & (chosen < size)
        value, allowed = self._at(chosen.clamp(0, size - 1))
        expected, also = self._at(self.indices)
        right &= (value == expected) | ((value - expected).abs() <= allowed + also)
        if self.distinct:
            ordered, places = chosen.sort(self.dim)
            again = torch.zeros_like(ordered, dtype=torch.bool)
            again.narrow(self.dim, 1, again.shape[self.dim] - 1).copy_(ordered.diff(dim=self.dim) == 0)
            right &= ~torch.zeros_like(again).scatter_(self.dim, places, again)
        return right.reshape(output.shape)

    def _at(self, indices: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.values.expected.gather(self.dim, indices), self.values.allowed.gather(self.dim, indices)


def no_change(expected: torch.Tensor, native: torch.Tensor) -> torch.Tensor:
    """What `add_changes` starts with: for each element no change, or whether an integer depends on rounding."""
    if not native.is_floating_point():
        return native != expected
    return torch.zeros_like(expected, dtype=torch.float64 if native.dtype == torch.float64 else torch.float32)


def add_changes(changes: Tensors, expected: Tensors, perturbed: Tensors) -> bool:
    """Keep the largest change of each element of the outputs, `perturbed` being those for slightly changed inputs.

    Returns:
        Whether all changes were finite. One that is not says nothing: the input has left the domain of an operation.
    """
    finite = True
    for largest, output, other in zip(changes, expected, perturbed, strict=False):  # choices depend on values
        if largest.dtype is torch.bool:
            largest |= other != output
            continue
        change = (other - output).abs_().to(largest.dtype)
        if not bool(change.sum().isfinite()):
            finite = finite and bool((change.isfinite() | ~output.isfinite()).all())
            change.nan_to_num_(0.0, 0.0)
        torch.maximum(largest, change, out=largest)
    return finite


def tolerance_of(expected: torch.Tensor, native: torch.Tensor, changes: torch.Tensor, dtype: torch.dtype) -> Tolerance:
    """The error allowed for one output.

    The error allowed for an element is a number of roundings of its scale, which is its value plus its sensitivity: the
    change of the output for relative changes of the inputs, divided by the latter. So a sum that cancels may have the
    rounding errors of its terms. Added is a multiple of the largest error that `native` has on elements of that scale.

    Where both are the same infinity, an output must be infinite or NaN; where else one of them is not finite, any value
    is right.

    Args:
        native: The output of the reference in its own precision.
        changes: See `add_changes`. They become its scale.
        dtype: Of the output; `native` may have a wider one.
    """
    if not native.numel():
        return Tolerance(torch.zeros_like(expected), expected, dtype, 0.0)
    if not dtype.is_floating_point:
        return Tolerance(torch.where(changes, math.inf, INTEGER_ERROR), expected, dtype, 0.0)
    undefined, infinite = ~(expected.isfinite() & native.isfinite()), expected.isinf() & (expected == native)
    special = bool(undefined.any())
    if special:
        numbers, native = expected.masked_fill(undefined, 0.0), native.masked_fill(undefined, 0.0)
    else:
        numbers = expected
    scale = changes.div_(PERTURBATION).add_(numbers.abs())
    errors = _errors(native, numbers).to(scale.dtype)
    allowed = _errors_of_alike(errors, scale).mul_(_slack(dtype)).add_(_least(dtype))
    allowed += scale.mul_(_roundings(dtype) * torch.finfo(dtype).eps)
    overall = float(torch.linalg.vector_norm(allowed, dtype=torch.float64)) / math.sqrt(allowed.numel())
    bias = _allowed_bias(native, numbers, allowed, dtype)
    if special:
        allowed = allowed.masked_fill_(undefined & ~infinite, math.inf)
    return Tolerance(allowed, expected, dtype, float(errors.max()), overall, bias, special)


def _allowed_bias(native: torch.Tensor, expected: torch.Tensor, allowed: torch.Tensor, dtype: torch.dtype) -> float:
    if _is_fine(dtype):
        return math.inf
    mean, error = _bias(native, expected, allowed)
    rounding = min(torch.finfo(dtype).eps, COARSEST_BIAS)
    return BIAS_ROUNDINGS * rounding + BIAS_SLACK * (abs(mean) + error)


def _bias(output: torch.Tensor, expected: torch.Tensor, allowed: torch.Tensor) -> tuple[float, float]:
    """The factor by which an output is too large, less one, and its standard error; elements count by their tolerance.

    It is the sum of signed errors divided by the sum of magnitudes, both measured in errors allowed.
    """
    magnitudes = (expected.abs() / allowed).nan_to_num_(0.0, 0.0)
    errors = ((output - expected) * expected.sign() / allowed).nan_to_num_(0.0, 0.0, 0.0)
    total = float(magnitudes.sum())
    if not total:
        return 0.0, 0.0
    mean = float(errors.sum()) / total
    return mean, float(torch.linalg.vector_norm(errors - mean * magnitudes, dtype=torch.float64)) / total


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
    errors = (output - expected.double()).abs_()
    if bool(errors.sum().isfinite()):
        return errors
    return errors.masked_fill_(expected.isinf() & ~output.isfinite(), 0.0)


def _bounded(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The same in float64, infinities as the largest number of the type."""
    return values.double().clamp_(-torch.finfo(dtype).max, torch.finfo(dtype).max)


def _least(dtype: torch.dtype) -> float:
    """Numbers that may be taken for zero: those near and below the least normal ones."""
    limits = torch.finfo(dtype)
    return FINE_SLACK * torch.finfo(torch.float32).tiny + COARSE_ROUNDINGS * limits.smallest_normal * limits.eps


def _is_fine(dtype: torch.dtype) -> bool:
    return torch.finfo(dtype).eps < EXACT_EPSILON


def _roundings(dtype: torch.dtype) -> float:
    return FINE_ROUNDINGS if _is_fine(dtype) else COARSE_ROUNDINGS


def _slack(dtype: torch.dtype) -> float:
    return FINE_SLACK if _is_fine(dtype) else COARSE_SLACK

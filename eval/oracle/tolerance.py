"""The error allowed for each element: by its sensitivity and the reference's own error."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import torch

from eval.oracle.blocks import blocks, on_host, write_block
from eval.oracle.precision import TF32_EPSILON
from eval.oracle.reference import PERTURBATION, Tensors

EXACT_EPSILON = 1e-5
"""Types with a smaller epsilon may accumulate in their own precision, in any order; others accumulate in float32."""
FINE_ROUNDINGS, COARSE_ROUNDINGS = 256.0, 4.0
"""Roundings allowed in fine and coarse types. The error of a serial sum of n terms grows like the square root of n
(Higham 2002, section 4.2), so 256 allow tens of thousands of terms; half precision is 8,192 times coarser."""
FINE_SLACK, COARSE_SLACK = 16.0, 4.0
"""Error allowed for fine and coarse types, as a multiple of the reference's own error in its own precision."""
COARSEST = 1.0
"""Both for types of 8 bits. Nobody computes in them, so only the last rounding is theirs: to a number or the next."""
TF32_SLACK = 2.0
"""The same where products are in TF32, of which the largest error in several runs is known. With twice as much, most
products of bfloat16 would pass."""
NOISE = 4 * torch.finfo(torch.float64).eps
"""Error of the expected values themselves, relative to the largest of an output: float64 loses what is smaller, as the
reference of `log_softmax` does where one value is much larger than the others of its row."""
LOST = 0.25
"""Relative error with which the reference has lost a value: it has lost all smaller ones, too."""
EXCUSED = 4096
"""One element in this many may exceed its own tolerance: its sensitivity may seem small by chance. In TF32 one more
may: a value near zero may get another sign in no other run."""
BIAS_ROUNDINGS, BIAS_SLACK = 1.0, 4.0
"""Mean error allowed for a coarse type, relative to the values: one rounding of the type, because a constant may be
rounded once, and a multiple of the mean error that the reference has itself and of the standard error of the mean."""
COARSEST_EPSILON = 2.0**-7
"""That of bfloat16, and for all types the largest that counts as this rounding. Types of 8 bits have a larger one."""
MANY = 256
"""Fewer errors may have one direction by chance, or because they share one rounding."""
INTEGER_ERROR = 0.25
EXPONENTS = 1100
"""Exponents of float64 lie between minus and plus this number."""


class Comparison(NamedTuple):
    """How far an output is from the expected one."""

    error: float
    """The largest absolute error; NaN or infinite if an output is so where it may not be."""
    ratio: float
    """The largest error as a multiple of the error allowed for its element; above 1 or NaN is wrong."""
    wrong: int
    """Number of wrong elements."""
    first: int | None
    """Place of the first of them, or of one that exceeds its own tolerance, if it counts elements row by row."""


@dataclass(frozen=True)
class Tolerance:
    """The error allowed for one output."""

    allowed: torch.Tensor
    """Absolute error per element; infinite for an integer that depends on rounding, and where nothing is defined."""
    expected: torch.Tensor
    dtype: torch.dtype
    excused: int = 0
    """How many elements may exceed their own tolerance."""
    overall: float = 0.0
    """Error allowed for an excused element: that of a typical scale."""
    bias: float = math.inf
    """The mean error allowed, relative to the values."""
    undefined: bool = False
    """Whether the reference is infinite or NaN somewhere in one of its precisions."""
    signed: bool = False
    """Whether an infinity of the other sign is wrong."""
    ties: "Ties | None" = None
    """For indices: the values from which they were chosen."""

    def compare(self, output: torch.Tensor) -> Comparison:
        """Compare an output, on whose device this is done, with the expected one."""
        return self._compared(self._errors(output))

    def _errors(self, output: torch.Tensor) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
        tensors = [output, self.expected, self.allowed, *([self.ties.accept(output)] if self.ties else [])]
        for start, (found, expected, allowed, *accepted) in blocks(output.device.type, *tensors):
            errors = _errors(found, expected)
            if self.signed:
                errors.masked_fill_(expected.isinf() & (found == -expected), math.inf)
            errors = errors.to(allowed.dtype).masked_fill_(allowed.isinf(), 0.0)
            yield start, errors.masked_fill_(accepted[0], 0.0) if accepted else errors, allowed

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
            differing = sum(int((a != b).sum()) for _, (a, b) in blocks(output.device.type, output, native))
            unsure = self.ties.unsure if self.ties else int(self.allowed.isinf().sum())
            return differing <= COARSE_SLACK * unsure + output.numel() // EXCUSED
        return self._compared(self._far(output, native)).ratio <= 1

    def _far(self, output: torch.Tensor, native: torch.Tensor) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
        """Half the errors of elements that differ by more than roundings of their values, and the error allowed."""
        most = torch.finfo(self.dtype).max  # in the place of infinities
        roundings = 2 * roundings_of(self.dtype) * torch.finfo(self.dtype).eps
        for start, (found, other) in blocks(output.device.type, output, native):
            excess = (found - other).abs_().sub_(other.abs(), alpha=roundings)
            far = ~(excess <= 0)  # also infinities
            if bool(far.any()):
                found, other = (x[far].double().clamp_(-most, most) for x in (found, other))
                errors = _errors(found, other).masked_fill_(found.isnan() & other.isnan(), 0.0)
                yield start, errors / 2, self._allowed_at(torch.fmax(found.abs(), other.abs()))  # one may be 0

    def _compared(self, parts: Iterable[tuple[int, torch.Tensor, torch.Tensor]]) -> Comparison:
        """Compare errors with those allowed. A few that exceed theirs are measured by that of the whole output."""
        largest, within, beyond, wrong, first = 0.0, 0.0, 0.0, 0, None
        exceeding: list[torch.Tensor] = []
        for start, errors, allowed in parts:
            ratios = errors / allowed
            over = ~(ratios <= 1)
            largest = _larger(largest, errors)
            within = _larger(within, ratios.masked_fill(over, 0.0))
            if count := int(over.sum()):
                first = start + int(over.nonzero()[0]) if first is None else first
                beyond, wrong = _larger(beyond, ratios[over]), wrong + count
                exceeding += [errors[over]] if wrong <= self.excused else []
        if wrong and wrong <= self.excused:
            ratios = torch.cat(exceeding) / self.overall
            beyond, wrong = _larger(0.0, ratios), int((~(ratios <= 1)).sum())
        return Comparison(largest, beyond if not beyond <= within else within, wrong, first)

    def _allowed_at(self, values: torch.Tensor) -> torch.Tensor:
        """The largest error allowed for the values of the nearest magnitude, if possible not a smaller one."""
        exponents, allowed = (each.to(values.device) for each in self._magnitudes)
        return allowed[torch.searchsorted(exponents, _magnitudes(values)).clamp_(max=len(exponents) - 1)]

    def on_host(self) -> "Tolerance":
        """The same in the host's memory; what a GPU computes from all elements stays known."""
        moved = replace(self, allowed=on_host(self.allowed), expected=on_host(self.expected))
        if self.dtype.is_floating_point and self.allowed.numel():
            vars(moved)["_magnitudes"] = self._magnitudes
        return moved

    @cached_property
    def _magnitudes(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The exponents of the expected values, and the largest error allowed for each."""
        largest = _table(self.allowed)
        for _, (allowed, expected) in blocks(self.allowed.device.type, self.allowed, self.expected):
            _keep_largest(largest, allowed, _magnitudes(expected))
        seen = largest.nonzero().flatten()
        return seen, largest[seen].double()


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
        chosen = output.reshape(self.indices.shape).to(self.indices)
        size = self.values.expected.shape[self.dim]
        right = (chosen >= 0) & (chosen < size)
        value, allowed = self._at(chosen.clamp(0, size - 1))
        expected, also = self._at(self.indices)
        right &= (value == expected) | ((value.double() - expected.double()).abs() <= allowed + also)
        if self.distinct:
            ordered, places = chosen.sort(self.dim)
            again = torch.zeros_like(ordered, dtype=torch.bool)
            again.narrow(self.dim, 1, again.shape[self.dim] - 1).copy_(ordered.diff(dim=self.dim) == 0)
            right &= ~torch.zeros_like(again).scatter_(self.dim, places, again)
        return right.reshape(output.shape).to(output.device)

    def _at(self, indices: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.values.expected.gather(self.dim, indices), self.values.allowed.gather(self.dim, indices)


def no_change(expected: torch.Tensor, native: torch.Tensor) -> torch.Tensor:
    """What `add_changes` starts with: for each element no change, or whether an integer depends on rounding."""
    if not native.is_floating_point():
        return (native != expected).contiguous()
    dtype = torch.float64 if native.dtype == torch.float64 else torch.float32
    return torch.zeros(expected.shape, dtype=dtype, device=expected.device)


def add_changes(changes: Tensors, expected: Tensors, perturbed: Tensors) -> bool:
    """Keep the largest change of each element of the outputs, `perturbed` being those for slightly changed inputs.

    Returns:
        Whether all changes were finite. One that is not says nothing: the input has left the domain of an operation.
    """
    finite = True
    for kept, output, changed in zip(changes, expected, perturbed, strict=False):  # choices depend on values
        for start, (largest, base, other) in blocks(changed.device.type, kept, output, changed):
            if largest.dtype is torch.bool:
                write_block(kept, start, largest | (other != base))
                continue
            change = (other - base).abs_().to(largest.dtype)
            if not bool(change.sum().isfinite()):
                finite = finite and bool((change.isfinite() | ~base.isfinite()).all())
                change.nan_to_num_(0.0, 0.0)
            write_block(kept, start, torch.maximum(largest, change))
    return finite


def tolerance_of(
    expected: torch.Tensor,
    native: torch.Tensor,
    changes: torch.Tensor,
    dtype: torch.dtype,
    *,
    device: str,
    in_tf32: bool = False,
) -> Tolerance:
    """The error allowed for one output.

    The error allowed for an element is a number of roundings of its scale, which is its value plus its sensitivity: the
    change of the output for relative changes of the inputs, divided by the latter. So a sum that cancels may have the
    rounding errors of its terms. Added is a multiple of the largest error that `native` has on elements of that scale.

    Where both are the same infinity, an output must be infinite or NaN, see also Tolerance.signed; where else one of
    them is not finite, any value is right.

    Args:
        native: The output of the reference in its own precision.
        changes: See `add_changes`. They become the error allowed.
        dtype: Of the output; `native` may have a wider one.
        device: Where it is computed.
        in_tf32: Whether `native` has the error of products in TF32, too.
    """
    if not native.numel():
        return Tolerance(torch.zeros_like(expected), expected, dtype)
    if not dtype.is_floating_point:
        return Tolerance(torch.where(changes, math.inf, INTEGER_ERROR), expected, dtype)
    largest, undefined, noise = _table(changes).to(device), False, 0.0
    for _, (value, other, change) in blocks(device, expected, native, changes):
        special = ~(value.isfinite() & other.isfinite())
        undefined = undefined or bool(special.any())
        errors = _errors(other, value).masked_fill_(special, 0.0).to(change.dtype)
        noise = max(noise, NOISE * float(value.abs().masked_fill_(special, 0.0).max()))
        _keep_largest(largest, errors, _exponents(_scale(value, special, change)))
    alike, total = _errors_of_alike(largest).to(changes.dtype), 0.0
    fine = _is_fine(dtype) and not in_tf32
    slack = TF32_SLACK if in_tf32 and _is_fine(dtype) else slack_of(dtype)
    limits = torch.finfo(dtype)  # numbers near and below the least normal ones may be taken for zero
    zero = FINE_SLACK * torch.finfo(torch.float32).tiny + COARSE_ROUNDINGS * limits.smallest_normal * limits.eps
    for start, (value, other, change) in blocks(device, expected, native, changes):
        special = ~(value.isfinite() & other.isfinite())
        scale = _scale(value, special, change)
        allowed = alike[_exponents(scale)].mul_(slack).add_(zero + noise)
        allowed.add_(scale, alpha=roundings_of(dtype) * limits.eps)
        total += float(torch.linalg.vector_norm(allowed, dtype=torch.float64)) ** 2
        free = special & ~(value.isinf() & (value == other))
        write_block(changes, start, allowed.masked_fill_(free, math.inf) if undefined else allowed)
    bias = math.inf
    if not fine and native.numel() >= MANY:
        rounding = max(min(limits.eps, COARSEST_EPSILON), TF32_EPSILON if in_tf32 else 0.0)
        mean, error = _bias(native, expected, changes, device)
        bias = BIAS_ROUNDINGS * rounding + BIAS_SLACK * (abs(mean) + error)
    excused, overall = native.numel() // EXCUSED + in_tf32, math.sqrt(total / changes.numel())
    return Tolerance(changes, expected, dtype, excused, overall, bias, undefined)


def _scale(value: torch.Tensor, special: torch.Tensor, change: torch.Tensor) -> torch.Tensor:
    """The scale of elements; of those that are not finite, only their change."""
    return change / PERTURBATION + value.abs().masked_fill_(special, 0.0).to(change.dtype)


def _bias(
    output: torch.Tensor, expected: torch.Tensor, allowed: torch.Tensor, device: str | None = None
) -> tuple[float, float]:
    """The factor by which an output is too large, less one, and its standard error; elements count by their tolerance.

    It is the sum of signed errors divided by the sum of magnitudes, both measured in errors allowed.
    """
    sums = torch.zeros(5, dtype=torch.float64)
    for _, (found, value, limit) in blocks(device or output.device.type, output, expected, allowed):
        sizes = (value.abs() / limit).nan_to_num_(0.0, 0.0).double()
        errors = ((found - value) * value.sign() / limit).nan_to_num_(0.0, 0.0, 0.0).double()
        products = (sizes, errors, errors * errors, errors * sizes, sizes * sizes)
        sums += torch.stack([each.sum() for each in products]).cpu()
    size, error, squares, mixed, sizes_squared = sums.tolist()
    if not size:
        return 0.0, 0.0
    mean = error / size
    return mean, math.sqrt(max(0.0, squares - 2 * mean * mixed + mean * mean * sizes_squared)) / size


def _errors_of_alike(largest: torch.Tensor) -> torch.Tensor:
    """For each exponent, the largest error among elements of about that scale, and among those that are lost."""
    lost = largest >= LOST * torch.exp2(torch.arange(-EXPONENTS, EXPONENTS, device=largest.device).double() - 1)
    floor = float(largest[lost].max()) if bool(lost.any()) else 0.0
    return torch.nn.functional.max_pool1d(largest.double()[None], 3, stride=1, padding=1)[0].clamp_(min=floor)


def _exponents(values: torch.Tensor) -> torch.Tensor:
    """Numbers of powers of two, from 0 on."""
    return torch.frexp(values).exponent.long().add_(EXPONENTS)


def _magnitudes(values: torch.Tensor) -> torch.Tensor:
    """The same, and 0 for zeros, whose exponent is that of a half."""
    return _exponents(values).masked_fill_(values == 0, 0)


def _table(like: torch.Tensor) -> torch.Tensor:
    """A zero for each exponent."""
    return torch.zeros(2 * EXPONENTS, dtype=like.dtype, device=like.device)


def _keep_largest(table: torch.Tensor, values: torch.Tensor, exponents: torch.Tensor) -> None:
    """Keep the largest value for each exponent."""
    table.scatter_reduce_(0, exponents, values, "amax")


def _larger(value: float, others: torch.Tensor) -> float:
    """The largest; NaN if there is one."""
    other = float(others.max()) if others.numel() else value
    return value if other <= value else other


def _errors(output: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """Absolute difference per element; for integers at least 1 if they differ, even beyond the precision of float64."""
    if not output.is_floating_point():
        errors = (output.double() - expected.double()).abs_().clamp_(min=1.0)
        return torch.where(output == expected, 0.0, errors)
    errors = (output - expected.double()).abs_()
    if bool(errors.sum().isfinite()):
        return errors
    return errors.masked_fill_(expected.isinf() & ~output.isfinite(), 0.0)


def _is_fine(dtype: torch.dtype) -> bool:
    return torch.finfo(dtype).eps < EXACT_EPSILON


def roundings_of(dtype: torch.dtype) -> float:
    """Roundings of a type that are allowed."""
    return FINE_ROUNDINGS if _is_fine(dtype) else COARSEST if dtype.itemsize == 1 else COARSE_ROUNDINGS


def slack_of(dtype: torch.dtype) -> float:
    """The multiple of the reference's own error that is allowed beside them."""
    return FINE_SLACK if _is_fine(dtype) else COARSEST if dtype.itemsize == 1 else COARSE_SLACK

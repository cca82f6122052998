"""Values of inputs: as a task draws them, or changed so that its promises hold."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from functools import partial
from typing import Any

import torch

from eval.oracle.operations import operations_in
from eval.oracle.precision import TF32_BITS
from eval.oracle.reference import SPREAD, Reference, as_numbers, is_float, stored_once, with_values
from kb.errors import TaskError

RARE = 2048
"""One in this many values is an outlier."""
LONG = 512
"""Rows with more values are neither sorted nor equal as a whole, because an honest serial sum would fail."""
MOST = 1 << 16
"""An honest serial sum in float32 tells values apart from one that is so many times as large."""
COARSE_EXPONENT = 9
"""`_coarse` makes values below 2 to this power, at most so many times as large as usual ones."""
MOST_INTEGER = 1 << 62
CHANCE = 16
"""With fewer values or rows than this, a tensor may have a property by chance."""
COMMON_ZEROS = 0.01
"""Share of values that are zero in both draws above which the task promises zeros; coarse types have some by chance."""
CLOSE = 4e-3
"""Relative difference up to which a sum counts as one, and two values as equal."""
LEARNING_SEEDS = (0, 1)
EXPONENTIALS = re.compile("^exp2?_?$|softmax|sumexp|addexp|attention")
"""Names of operations that take an exponential of what they get, which minus infinity makes zero."""
INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8)

Change = Callable[[torch.Tensor, torch.Generator], torch.Tensor]


def _powers_of_two(low: int, high: int) -> Change:
    return lambda x, generator: torch.exp2(_integers(low, high + 1, x.shape, generator).to(x.dtype))


def _integers(low: int, high: int, shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    return torch.randint(low, high, tuple(shape), generator=generator, device=generator.device)


def _rare_powers(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    factors = torch.ones_like(x).flatten()
    if count := factors.numel() and max(1, factors.numel() // RARE):
        places = _integers(0, factors.numel(), (count,), generator)
        factors[places] = _powers_of_two(7, 10)(places.to(x.dtype), generator)
    return factors.view_as(x)


def _equal(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """The first LONG values of each row are one value of few bits; all integers or truth values are its largest one.

    The rounding errors of a serial sum of equal terms have equal signs, so they grow like the number of terms.
    """
    if not x.is_floating_point():
        high, low = x.amax(-1, keepdim=True), x.amin(-1, keepdim=True)
        return torch.where(high + low >= 0, high, low).expand_as(x).clone()
    mantissa, exponent = torch.frexp(x[..., :1].float())
    result = x.clone()
    result[..., :LONG] = torch.ldexp((mantissa * 8).round() / 8, exponent).to(x.dtype)
    return result


def _sorted(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Each row is sorted, a long one in pieces: over the whole of it, sums would be far larger than their result."""
    return torch.cat([piece.sort(dim=-1).values for piece in torch.split(x, LONG, dim=-1)], dim=-1)


def _far(x: torch.Tensor, generator: torch.Generator, most: float = math.inf) -> torch.Tensor:
    """All values are moved from zero by many times their magnitude, so that the difference of their squares is lost.

    An honest serial sum of all of them in float32 must still tell them apart.
    """
    times: float = min(most, torch.finfo(x.dtype).eps ** -0.5, 1 / (torch.finfo(torch.float32).eps * x.numel()))
    return x + times * x.abs().mean()


def _coarse(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Far values of float32 with no more bits than TF32, whose rounding would hide what is lost; other types stay.

    The last bit is set, so that none is whole: whole numbers would count as codes.
    """
    if x.dtype is not torch.float32:
        return x
    mantissa, exponent = torch.frexp(_far(x, generator, 2.0**COARSE_EXPONENT))
    exponent -= max(0, int(exponent.max()) - COARSE_EXPONENT)
    odd = (mantissa * 2 ** (TF32_BITS - 1)).floor() + 0.5
    return torch.ldexp(odd / 2 ** (TF32_BITS - 1), exponent)


def _lone(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """One value of each row is as large as all others together, or as MOST of them: none may be left out.

    In bfloat16, whose roundings hide what a part of very many rows changes, so is one row of each column, and so on.
    """
    places = _integers(0, x.shape[-1], (*x.shape[:-1], 1), generator)
    sums = x.abs().mean(-1, keepdim=True, dtype=torch.float64) * min(x.shape[-1], MOST)
    result = x.scatter(-1, places, sums.clamp(max=torch.finfo(x.dtype).max / 4).to(x.dtype))
    for dim, size in enumerate(x.shape[:-1] if x.dtype is torch.bfloat16 else ()):
        result.narrow(dim, int(_integers(0, size, (1,), generator)), 1).mul_(min(size, MOST))
    return result


def _noise(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Values keep their sign, but for zeros."""
    noise = SPREAD * torch.randn(x.shape, generator=generator, device=x.device).to(x.dtype)
    return torch.where(x == 0, noise.abs(), x * noise.exp())


def _hidden(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Half of each line along each dimension, in one piece, is minus infinity, which a softmax makes zero; or true."""
    hidden = torch.tensor([x.numel() > 1 and generator.initial_seed() % 2 == 1], device=x.device)
    for dim, size in enumerate(x.shape):
        places = torch.arange(size, device=x.device).view(-1, *[1] * (x.dim() - 1 - dim))
        hidden = hidden ^ (places >= (size + 1) // 2)
    return hidden.expand(x.shape).clone() if x.dtype is torch.bool else x.masked_fill(hidden, -torch.inf)


def _others(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Integers from 1, or -1, to the one that all are; 0 or 1 in the place of 1 and of truth values.

    The first of each row stays, so that no row is masked as a whole.
    """
    number = max(-MOST_INTEGER, min(MOST_INTEGER, int(x[(0,) * x.dim()])))
    from_zero = x.dtype is torch.bool or abs(number) == 1
    low, high = sorted((1 if x.dtype is torch.bool else number, 0 if from_zero else number // abs(number)))
    others = _integers(low, high + 1, x.shape, generator).to(x.dtype)
    along = max((dim for dim in range(x.dim()) if x.shape[dim] > 1), default=0)
    others.narrow(along, 0, 1).copy_(x.narrow(along, 0, 1))
    return others


def _rows(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Each row is any of its matrix; if these are the same, each column."""
    differing = [dim for dim in range(x.dim() - 1) if bool((x != x.narrow(dim, 0, 1)).any())]
    dim = differing[-1] if differing else x.dim() - 1
    return x.index_select(dim, _integers(0, x.shape[dim], x.shape[dim : dim + 1], generator))


FACTORS: Mapping[str, Change] = {
    "signs": lambda x, generator: (2 * _integers(0, 2, x.shape, generator) - 1).to(x.dtype),
    "wide": _powers_of_two(-10, 10),
    "small": lambda x, generator: torch.full_like(x, 2.0**-12),
    "tiny": lambda x, generator: torch.full_like(x, torch.finfo(x.dtype).tiny ** 0.8),
    "large": lambda x, generator: torch.full_like(x, 2.0**8),
    "outliers": _rare_powers,
}
"""Distributions that multiply each value: random signs, magnitudes over six decades, values so small that an epsilon
added to a divisor dominates, and so tiny that their squares are zero, large values, and rare large values among the
usual ones."""
REPLACEMENTS: Mapping[str, Change] = {
    "equal": _equal, "sorted": _sorted, "far": _far, "coarse": _coarse, "lone": _lone, "hidden": _hidden,
    "noise": _noise, "others": _others, "rows": _rows,
}  # fmt: skip
"""Distributions that replace values: each row holds one value, or is sorted, or all are far from zero, with all bits or
with those of TF32, or one counts as much as all others of its row; half are minus infinity, which a softmax makes zero.
What is one number in every draw becomes another, because nothing may rely on it; all truth values are true, so that
none relies on how many are; and the rows of a mask are drawn from its own."""
DISTRIBUTIONS = ("given", *FACTORS, "equal", "sorted", "far", "lone")
ALL_DISTRIBUTIONS = ("given", *FACTORS, *REPLACEMENTS)
EDGES = "edge"
"""A case whose values lie where comparisons turn; see eval.oracle.edges."""


class Structure(Enum):
    """What a task promises about an input."""

    FREE = "nothing: any kind of values is allowed"
    EXPONENTS = "nothing: any kind of values is allowed, and minus infinity hides one"
    HIDING = "truth values, any of which may hide an exponential"
    TRUTHS = "truth values, any of which may be true"
    SPARSE = "zeros, which multiplication keeps"
    SYMMETRIC = "a symmetric matrix, which symmetric factors keep"
    INTEGERS = "integers, any of which may stand in the place of another of its row: they may be indices"
    CONSTANT = "that it is one number, which may be another, and in a tensor another in each place"
    SAME = "that it is one integer, which may be a smaller one in each place, or one truth value"
    MASK = "a mask: zeros, and one other number"
    DRAWN = "more than a change of values keeps, so it is only drawn again"

    @property
    def distributions(self) -> tuple[str, ...]:
        """Those that keep the structure."""
        known = {
            Structure.FREE: (*DISTRIBUTIONS, "coarse"), Structure.EXPONENTS: (*DISTRIBUTIONS, "coarse", "hidden"),
            Structure.HIDING: ("given", "hidden"), Structure.TRUTHS: ("given", "equal"),
            Structure.INTEGERS: ("given", "equal", "sorted"), Structure.CONSTANT: ("given", "noise"),
            Structure.SAME: ("given", "others"), Structure.MASK: ("given", "rows"), Structure.DRAWN: ("given",),
        }  # fmt: skip
        return known.get(self, ("given", *FACTORS))


def learn_structures(reference: Reference) -> list[Structure]:
    """The structure of each input, learned from two draws."""
    draws = [reference.inputs(seed) for seed in LEARNING_SEEDS]
    found = [_structure(*pair) for pair in zip(*draws, strict=True)]
    hides = [all(map(_may_hide, pair)) for pair in zip(*draws, strict=True)]
    kind, change = "equal", {(Structure.DRAWN, True): Structure.TRUTHS}
    if any(map(EXPONENTIALS.search, operations_in(partial(reference.native, draws[0])))):
        kind = "hidden"
        change = {(Structure.FREE, False): Structure.EXPONENTS, (Structure.DRAWN, True): Structure.HIDING}
    hiding = [change.get(known, known[0]) for known in zip(found, hides, strict=True)]
    for place, structure in enumerate(found):
        alone = [hiding[place] if n == place else Structure.DRAWN for n in range(len(found))]
        if hiding[place] is not structure and not _stays_finite(reference, draws[0], alone, kind):
            hiding[place] = structure
    return hiding


def _stays_finite(reference: Reference, inputs: Sequence[Any], structures: Sequence[Structure], kind: str) -> bool:
    """Whether the reference is finite where an input is changed: it is not if values behind a softmax are hidden."""
    with suppress(TaskError):
        changed = (change_values(inputs, structures, [kind], half) for half in range(2))
        return all(are_finite(reference.native(given), given) for given in changed)
    return False


def are_finite(outputs: Sequence[torch.Tensor], inputs: Sequence[Any]) -> bool:
    """Whether outputs are finite, but for infinities that an input has at the same place, as in `log_softmax`."""
    given = [as_numbers(x) for x in inputs if is_float(x)]
    return all(
        bool(t.isfinite().all()) or any(x.shape == t.shape and bool((t.isfinite() | (t == x)).all()) for x in given)
        for t in map(as_numbers, outputs)
    )


def own_numbers(reference: Reference, structures: Sequence[Structure]) -> list[str]:
    """The arguments of `forward`, as text, that are no tensors and have the same value in every draw."""
    draws = zip(*map(reference.inputs, LEARNING_SEEDS), structures, strict=True)
    kept = [pair for *pair, known in draws if known is Structure.DRAWN and not isinstance(pair[0], torch.Tensor)]
    return [repr(one) for one, other in kept if one is not None and one == other]


def change_values(
    inputs: Sequence[Any], structures: Sequence[Structure], distributions: Sequence[str], seed: int
) -> list[Any]:
    """Inputs of one distribution, or of several: then each slice of the first dimension has one of its own.

    Only one input hides some of its values: one's and another's together would hide all.
    """
    device = next((x.device for x in inputs if isinstance(x, torch.Tensor)), None)
    generator = torch.Generator(device or "cpu").manual_seed(seed)
    kept = [[d for d in distributions if d in structure.distributions] for structure in structures]
    hiding = [place for place, names in enumerate(kept) if "hidden" in names]
    for place in hiding:
        if place != hiding[seed // 2 % len(hiding)]:  # which half it is, the last bit decides
            kept[place] = [d for d in kept[place] if d != "hidden"]
    return [_changed(*given, generator) for given in zip(inputs, structures, kept, strict=True)]


def _changed(x: Any, structure: Structure, distributions: Sequence[str], generator: torch.Generator) -> Any:
    if structure is Structure.DRAWN:
        return x
    if isinstance(x, float):
        number = torch.tensor(x, dtype=torch.float64, device=generator.device)
        return float(_noise(number, generator)) if "noise" in distributions else x
    return with_values(x, lambda dense: _values(dense, structure, distributions, generator))


def _values(
    x: torch.Tensor, structure: Structure, distributions: Sequence[str], generator: torch.Generator
) -> torch.Tensor:
    if structure not in (Structure.SPARSE, Structure.SYMMETRIC):
        return _mixed(x, distributions, generator)
    factors = _mixed(torch.ones_like(x), distributions, generator)
    return x * (factors.triu() + factors.triu(1).mT if structure is Structure.SYMMETRIC else factors)


def _mixed(x: torch.Tensor, distributions: Sequence[str], generator: torch.Generator) -> torch.Tensor:
    if len(distributions) < 2:
        return _drawn_from(x, distributions[0] if distributions else "given", generator)
    result = x.clone()
    slices = _slices(result, len(distributions))
    order = torch.randperm(len(slices), generator=generator, device=x.device)
    for number, which in enumerate(torch.randperm(len(distributions), generator=generator, device=x.device).tolist()):
        chosen = order[number :: len(distributions)]
        slices[chosen] = _drawn_from(slices[chosen], distributions[which], generator)
    return result


def _drawn_from(x: torch.Tensor, distribution: str, generator: torch.Generator) -> torch.Tensor:
    if distribution in FACTORS:
        return x * FACTORS[distribution](x, generator)
    return REPLACEMENTS[distribution](x, generator) if distribution in REPLACEMENTS and x.dim() and x.numel() else x


def _slices(x: torch.Tensor, count: int) -> torch.Tensor:
    """A view of the tensor by the slices of its first dimension that has several; a vector is cut into `count`."""
    while x.dim() > 1 and x.shape[0] == 1:
        x = x[0]
    width = x.numel() // count
    return x if x.dim() > 1 else x.view(-1)[: width * count].view(count, width)


def _structure(one: Any, other: Any) -> Structure:
    """The structure that two draws have in common; a property that may be chance is none."""
    if isinstance(one, float) and one == other != 0:  # zero may be the chance of a dropout
        return Structure.CONSTANT
    if not isinstance(one, torch.Tensor) or one.shape != other.shape or not one.numel():
        return Structure.DRAWN
    several = one.numel() > 1
    one, other = (as_numbers(stored_once(x)) for x in (one, other))
    low, high = one.min(), one.max()
    same, is_one_number = several and torch.equal(one, other), bool(low == high)
    if same and not is_one_number and bool(((one == low) | (one == high)).all() & ((low == 0) | (high == 0))):
        return Structure.MASK
    if same and is_one_number and not is_float(one) and (one.dtype is torch.bool or bool(one.any())):
        return Structure.SAME
    if not is_float(one):
        return Structure.DRAWN if any(map(_is_bound, (one, other))) else Structure.INTEGERS
    if same and is_one_number:
        return Structure.CONSTANT
    if torch.equal(one, other) or all(_is_special(x.double()) for x in (one, other)):
        return Structure.DRAWN
    zeros, both = one == 0, (one == 0) & (other == 0)
    if bool(both.any()) and (torch.equal(zeros, other == 0) or float(both.double().mean()) > COMMON_ZEROS):
        return Structure.SPARSE
    square = one.dim() > 1 and one.shape[-1] == one.shape[-2] > 1
    if square and all(torch.allclose(x, x.mT, rtol=CLOSE, atol=0) for x in (one, other)):
        return Structure.SYMMETRIC
    return Structure.FREE


def _is_bound(x: torch.Tensor) -> bool:
    """Whether numbers may depend on each other: they are sorted, are no more than two values, or differ in each row.

    If they are drawn from more than the square of their number, they may differ by chance.
    """
    if x.dtype not in INTEGERS or not x.dim():
        return True
    low, high = int(x.min()), int(x.max())
    distinct = any(
        (high - low) * CHANCE < x.shape[dim] ** 2 and bool((x.sort(dim).values.diff(dim=dim) != 0).all())
        for dim in range(x.dim())
    )
    return distinct or _is_sorted(x) or bool(((x == low) | (x == high)).all())


def _may_hide(x: Any) -> bool:
    """Whether truth values are in no order, and not equally many in each row."""
    if not isinstance(x, torch.Tensor) or x.dtype is not torch.bool or x.numel() < CHANCE or _is_sorted(x):
        return False
    counts = x.sum(-1).flatten()
    return len(counts) == 1 or bool((counts != counts[0]).any())


def _is_sorted(x: torch.Tensor) -> bool:
    """Whether each row is sorted, up or down, and has so many values that this is no chance."""
    before, after = (x[..., :-1], x[..., 1:]) if x.dim() else (x, x)  # differences of small integers overflow
    return after.numel() >= CHANCE and (bool((after >= before).all()) or bool((after <= before).all()))


def _is_special(x: torch.Tensor) -> bool:
    """Whether a tensor holds whole numbers, infinities or two values, or is sorted or normalised."""
    has_two = x.numel() > CHANCE and bool(((x == x.max()) | (x == x.min())).all())
    if has_two or _is_sorted(x) or not bool(x.isfinite().all()) or torch.equal(x, x.round()):
        return True
    return any(
        bool(((sums - 1).abs() <= CLOSE).all())
        for dim in range(x.dim())
        if x.shape[dim] > 1
        for sums in (x.sum(dim), x.square().sum(dim))
    )

"""The cases on which a candidate is tried: a task at some sizes, with inputs of some distributions."""

import math
import random
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from eval.oracle.blocks import blocks, same_bits
from eval.oracle.edges import put_edges
from eval.oracle.expected import expected_of
from eval.oracle.reference import Reference, Tensors, as_numbers, as_tuple, enough_memory, is_large, tensor_bytes
from eval.oracle.tolerance import Comparison, Tolerance
from eval.oracle.values import ALL_DISTRIBUTIONS, EDGES, Structure, are_finite, change_values
from kb.errors import TaskError, TaskSizeError
from kb.types.base import Frozen
from kb.types.evidence import CaseResult, Outcome

MOST_AT_EDGES = 1 << 24
"""Inputs with more values have none at edges: smaller sizes decide about them."""
AT_EDGES = (Structure.FREE, Structure.EXPONENTS, Structure.INTEGERS)
EXTREME = ("wide", "large", "outliers", "far", "coarse", "lone", "hidden")
"""Distributions that may overflow at some sizes only."""
ALWAYS = ("far", "coarse")
"""Large sizes weaken these, so they are tried at small ones, too, whatever the time."""
DRAWS = 24
"""So many other draws with the same outputs are no chance, even where an output is one truth value."""
FINITE_DRAWS = 4
"""A zero, whose logarithm is infinite, may be in one draw of `torch.rand` by chance, but not in so many."""
REPEATED = 1e-4
"""Relative difference up to which two runs on the same inputs give the same, if threads add in another order."""


class CaseSeed(Frozen):
    """What a case was drawn from: the same seed gives the same case in another process."""

    sizes: dict[str, int]
    parameters: int
    """Seed of the reference."""
    inputs: int
    """Seed of the inputs."""
    kinds: tuple[str, ...]
    """The distributions of the inputs; with several, each slice of an input has one of them. Its name is stored."""
    factor: float = 1.0
    """See Reference."""

    @property
    def at_edges(self) -> bool:
        return self.kinds == (EDGES,)

    def __str__(self) -> str:
        where = ", ".join(f"{name}={size}" for name, size in self.sizes.items()) or "sizes as given"
        numbers = "" if self.factor == 1 else f"; numbers of Model(...) times {self.factor:.3g}"
        return f"{where}; {self.kinds[0] if len(self.kinds) == 1 else 'mixed'} values{numbers}"


@dataclass(frozen=True)
class Case:
    """Inputs with the expected outputs."""

    name: str
    reference: Reference
    inputs: list[Any]
    tolerances: tuple[Tolerance, ...]
    """The error allowed for each output, and what is expected."""
    layouts: Tensors
    """The outputs of the reference itself, without values."""
    apart: bool
    """See Expected."""
    seed: CaseSeed | None = None
    """None for inputs that were not drawn."""

    @property
    def expected(self) -> Tensors:
        """Expected outputs, in float64 if the reference gives floating-point outputs, or in float32 if large."""
        return tuple(tolerance.expected for tolerance in self.tolerances)

    @property
    def input_bytes(self) -> int:
        return tensor_bytes(self.inputs)

    @property
    def output_bytes(self) -> int:
        return tensor_bytes(self.layouts)

    @property
    def is_large(self) -> bool:
        return is_large(self.input_bytes + self.output_bytes)

    def on_host(self) -> "Case":
        """The same with expected outputs and the errors allowed in the host's memory, where they leave a GPU room."""
        return replace(self, tolerances=tuple(tolerance.on_host() for tolerance in self.tolerances))

    @property
    def is_finite(self) -> bool:
        """Whether the reference is finite in both precisions."""
        return not any(tolerance.undefined for tolerance in self.tolerances)

    @property
    def decides(self) -> bool:
        """Whether some value of each output can be wrong."""
        return all(not t.allowed.numel() or bool(t.allowed.isfinite().any()) for t in self.tolerances)

    def compare(self, outputs: Sequence[torch.Tensor]) -> CaseResult:
        """Compare a candidate's outputs, whose shapes and types are right, with the expected ones."""
        worst, ratio, detail = 0.0, 0.0, ""
        for output, tolerance in zip(map(_numbers, outputs), self.tolerances, strict=True):
            if output.numel():
                found = tolerance.compare(output)
                if not math.isfinite(found.error):
                    detail = f"an output is not finite; {_first_wrong(output, tolerance.expected, found)}"
                    return CaseResult(name=self.name, outcome=Outcome.INCORRECT, detail=detail)
                worst, ratio = max(worst, found.error), max(ratio, found.ratio)
                if found.wrong:
                    detail = f"{ratio:.3g} times the error allowed; {_first_wrong(output, tolerance.expected, found)}"
                detail = detail or tolerance.biased(output)
        outcome = Outcome.INCORRECT if detail else Outcome.PASSED
        return CaseResult(name=self.name, outcome=outcome, max_error=worst, error_ratio=ratio, detail=detail)

    def near(self, outputs: Sequence[torch.Tensor], native: Any) -> bool:
        """Whether the outputs differ from those of the reference on the same inputs by at most twice the tolerance.

        The inputs may be others than those of this case, but of the same distribution.
        """
        return all(
            tolerance.near(_numbers(output), as_numbers(other))
            for output, other, tolerance in zip(outputs, as_tuple(native), self.tolerances, strict=True)
        )


def _numbers(output: torch.Tensor) -> torch.Tensor:
    """The output; if it has truth values, their bytes, because torch takes any byte but 0 that is found there for 1."""
    return output.view(torch.uint8) if output.dtype is torch.bool else as_numbers(output)


def _first_wrong(output: torch.Tensor, expected: torch.Tensor, found: Comparison) -> str:
    """Describe how many elements are wrong, and the first of them."""
    place = tuple(int(i) for i in np.unravel_index(found.first or 0, tuple(output.shape)))
    share = f"{found.wrong} of {output.numel()} elements are wrong"
    return f"{share}, the first at {list(place)}: {float(output[place]):.6g}, not {float(expected[place]):.6g}"


def draw_case(
    reference: Reference, structures: Sequence[Structure], distributions: Sequence[str], *, seed: int
) -> Case | None:
    """The case with inputs of some distributions; None if the reference fails or is not finite on them.

    At edges it may be infinite or NaN in places; see also `are_finite`.

    Raises:
        TaskSizeError: there is too little memory.
    """
    known = {"sizes": reference.sizes, "parameters": reference.seed, "factor": reference.factor}
    drawn_from = CaseSeed.model_validate({**known, "inputs": seed, "kinds": distributions})
    try:
        inputs = reference.inputs(seed)
        if drawn_from.at_edges and sum(x.numel() for x in inputs if isinstance(x, torch.Tensor)) > MOST_AT_EDGES:
            return None
        if drawn_from.at_edges:
            inputs = put_edges(reference, inputs, [s in AT_EDGES for s in structures], seed)
        else:
            may_be_sizes = {"others", "noise"} & set(distributions)
            shapes = [t.shape for t in reference.native(inputs)] if may_be_sizes else None
            inputs = change_values(inputs, structures, distributions, seed)
            outputs = reference.native(inputs)
            if shapes not in (None, [t.shape for t in outputs]) or not are_finite(outputs, inputs):
                return None
        case = make_case(str(drawn_from), reference, inputs, drawn_from)
    except TaskSizeError:
        raise
    except TaskError:  # a value may be outside the domain of an operation
        return None
    return case if case.is_finite or ({EDGES, "hidden"} & set(distributions) and case.decides) else None


def draw_cases(
    reference: Reference,
    structures: Sequence[Structure],
    distributions: Sequence[str] = ALL_DISTRIBUTIONS,
    *,
    budget_s: float = math.inf,
) -> Iterator[Case]:
    """Cases at the sizes of `reference`: given, mixed, edge values and those of ALWAYS; others while the time lasts.

    Left out are distributions that no input allows, and those on which the reference is not finite.
    """
    deadline = time.monotonic() + budget_s
    allowed = _allowed(reference, structures, distributions)
    draw = partial(draw_case, reference, structures)
    if case := draw(["given"], seed=new_seed()):
        yield case
    others = allowed[1:]
    mixtures = [allowed, [name for name in allowed if name not in EXTREME]] if others else []
    if case := next(filter(None, (draw(mixture, seed=new_seed()) for mixture in mixtures)), None):
        yield case
    if structures and (case := draw([EDGES], seed=new_seed())):
        yield case
    for name in sorted(random.SystemRandom().sample(others, len(others)), key=lambda name: name not in ALWAYS):
        if time.monotonic() > deadline and name not in ALWAYS:
            return
        if case := draw([name], seed=new_seed()):
            yield case


def usable_distributions(reference: Reference, structures: Sequence[Structure]) -> list[str]:
    """The distributions of inputs on which the reference works."""
    allowed = _allowed(reference, structures, ALL_DISTRIBUTIONS)
    return [d for d in allowed if d == "given" or draw_case(reference, structures, [d], seed=new_seed())]


def _allowed(reference: Reference, structures: Sequence[Structure], distributions: Sequence[str]) -> list[str]:
    """Those that an input allows, and coarse values only where the reference may use TF32."""
    kept = {"given", *(name for structure in structures for name in structure.distributions)}
    return [d for d in distributions if d in kept and (d != "coarse" or reference.interface().in_tf32)]


@enough_memory()
def given_case(name: str, reference: Reference) -> Case:
    """The task at the sizes and with the values of its file.

    Raises:
        TaskError: the reference fails, is not finite, is random, returns memory that it keeps, gives the same on other
            inputs, or is too large.
    """
    for _ in range(FINITE_DRAWS):
        seed = CaseSeed(sizes=reference.sizes, parameters=reference.seed, inputs=new_seed(), kinds=("given",))
        case = make_case(name, reference, reference.inputs(seed.inputs), seed)
        if case.is_finite:
            break
    else:
        raise TaskError("the reference gives infinities or NaN", hint="draw inputs on which it gives finite numbers")
    check_repeatable(reference)
    check_new_outputs(reference)
    others = (reference.native(reference.inputs(new_seed())) for _ in range(DRAWS))
    shapes = [t.shape for t in case.expected]
    if all([t.shape for t in o] == shapes and case.compare(o).outcome is Outcome.PASSED for o in others):
        raise TaskError(
            "the reference gives the same outputs on other inputs, or others in float64, so a stored answer would pass",
            hint="draw inputs at random, make outputs depend on them, keep as a buffer what forward() draws by type",
        )
    return case


def check_repeatable(reference: Reference) -> None:
    """Raises TaskError if the reference is random: on the same inputs it gives other outputs."""
    inputs = reference.inputs(new_seed())
    if not all(map(_agree, *(reference.native(inputs) for _ in range(2)))):
        raise TaskError(
            "the reference gives other outputs on the same inputs",
            hint="take randomness such as dropout out of forward(), or draw it in get_inputs()",
        )


def check_state(reference: Reference) -> None:
    """Raises TaskError if another model with the same state gives other outputs: no candidate could give the same."""
    inputs, other = reference.inputs(new_seed()), reference.with_same_state(new_seed())
    if not all(map(_agree, reference.native(inputs), other.native(inputs))):
        raise TaskError(
            "the reference draws values in Model(...) that are not in its state_dict, so no candidate gets them",
            hint="make them parameters, or buffers that are persistent",
        )


def updated_buffers(reference: Reference) -> list[str]:
    """The names of the buffers that a call changes, such as the running statistics of a layer that is in training."""
    before = {name: buffer.clone() for name, buffer in reference.model.named_buffers()}
    reference.native(reference.inputs(new_seed()))
    return [name for name, buffer in reference.model.named_buffers() if not same_bits(before[name], buffer)]


def check_new_outputs(reference: Reference) -> None:
    """Raises TaskError if the reference returns memory that it keeps: a parameter, a buffer or a view of one.

    The judge overwrites outputs, and would overwrite what the model computes with.
    """
    sets = [reference.inputs(new_seed()) for _ in range(2)]
    calls = [reference.native(inputs) for inputs in sets]  # both are kept, so that no memory is used twice
    one, other = ({t.untyped_storage().data_ptr() for t in outputs if t.numel()} for outputs in calls)
    if one & other:
        raise TaskError(
            "the reference returns a parameter or a buffer of its own, or a view of one",
            hint="return a copy, as with .clone()",
        )


def _agree(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two runs gave the same but for the order of sums."""
    if one.shape != other.shape:
        return False
    one, other = as_numbers(one), as_numbers(other)
    if not one.is_floating_point() or not one.numel():
        return torch.equal(one, other)
    device = one.device.type
    largest = max(float(a.abs().nan_to_num_(0.0, 0.0).max()) for _, (a,) in blocks(device, one))
    tolerated = max(REPEATED, 4 * torch.finfo(one.dtype).eps) * largest
    pairs = blocks(device, one, other)
    return all(torch.allclose(a, b, rtol=0.0, atol=tolerated, equal_nan=True) for _, (a, b) in pairs)


@enough_memory()
def make_case(name: str, reference: Reference, inputs: list[Any], seed: CaseSeed | None = None) -> Case:
    """Raises TaskError if the reference fails, changes its inputs, or is too large."""
    found = expected_of(reference, inputs, at_edges=bool(seed and seed.at_edges))
    return Case(name, reference, inputs, *found, seed)


def numbers_of(inputs: Sequence[Any]) -> list[Any]:
    """The arguments of `forward` that are no tensors."""
    return [x for x in inputs if not isinstance(x, torch.Tensor)]


def new_seed() -> int:
    """An unpredictable seed."""
    return secrets.randbits(62)

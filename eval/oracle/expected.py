"""What a reference gives on some inputs in float64, and the error allowed for each of its outputs."""

import re
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch

from eval.oracle.blocks import same_bits
from eval.oracle.operations import Choice, operations_in, record_choices
from eval.oracle.precision import InTf32, farther, tf32_operations
from eval.oracle.reference import PERTURBATION, Reference, Tensors, as_numbers, copied, is_float, is_large, tensor_bytes
from eval.oracle.tolerance import INTEGER_ERROR, Ties, Tolerance, add_changes, no_change, roundings_of, tolerance_of
from kb.errors import TaskError, TaskSizeError
from kb.types.kernels import Precision

LEAST_RUNS, MOST_RUNS, RUNNING_S = 2, 6, 0.5
"""Number of runs with random changes of inputs and parameters, which show the sensitivity of each element, and of runs
in TF32, which show the error that it causes; and the time after which the least must do."""
NEARER = 4.0
"""How much smaller a second change is where comparisons turn: by a jump, both change an output by the same. The smaller
one, too, is more than a constant is rounded by in float32."""
SIGN_OF_ZERO = re.compile("div|reciprocal|rsqrt|pow|gamma|norm|copysign")
"""Names of operations whose infinities have the sign of a zero, which may be another in an honest kernel."""
SIDES = 4.0
"""By so many times the epsilon of the inputs' type these change to reach the other side."""


class Expected(NamedTuple):
    """What a candidate must give."""

    tolerances: tuple[Tolerance, ...]
    layouts: Tensors
    """The outputs of the reference itself, without values."""
    apart: bool
    """Whether each output of the reference lies in a storage of its own, so that none share memory."""


class _Run(NamedTuple):
    """What a run of the reference computed: its outputs, and behind them the values of which it chose indices."""

    values: Tensors
    choices: list[Choice]


Watch = Callable[[Callable[[], Tensors]], _Run]
"""Runs the reference, and records the choices if they are wanted."""


def expected_of(reference: Reference, inputs: Sequence[Any], *, at_edges: bool) -> Expected:
    """Raises TaskError if the reference fails or changes its inputs.

    Args:
        at_edges: Whether an output may jump where inputs change a little.
    """
    native, layouts, apart = _native(reference, inputs)
    dtypes = [layout.dtype for layout in layouts]
    rounded = is_large(tensor_bytes((*inputs, *native))) and torch.float64 not in dtypes
    choosing = any(not t.is_floating_point() and t.dtype is not torch.bool for t in native)

    def watch(call: Callable[[], Tensors]) -> _Run:
        outputs, choices = record_choices(call) if choosing else (call(), [])
        if [t.shape for t in outputs] != [t.shape for t in native]:
            raise TaskError("the size of an output depends on roundings", hint="draw inputs on which it does not")
        return _Run((*outputs, *(choice.values for choice in choices)), choices)

    def exactly() -> Tensors:
        """Large outputs rounded to float32: half the memory, for a rounding that is small beside any tolerance."""
        exact = reference.oracle(inputs)
        return tuple(t.float() if t.dtype is torch.float64 else t for t in exact) if rounded else exact

    reached = set[int]()
    if any(is_float(x) for x in (*inputs, *reference.state.values(), *native)):
        computed = (*native, *watch(partial(reference.native, inputs)).values[len(native) :])
        operations = _tf32_operations(reference, inputs)
        with InTf32(operations) if operations else nullcontext() as used:
            known, choices = watch(exactly)
        if used and used.seen:
            computed, reached = _also_in_tf32(computed, known, operations, partial(watch, exactly))
        if at_edges:
            computed = _sure_of_sides(computed, known, reference, inputs, watch)
        changes = tuple(map(no_change, known, computed))
        _add_perturbations(changes, known, reference, inputs, watch, at_edges=at_edges)
    else:
        known, choices = watch(partial(reference.native, inputs))
        computed, changes = known, tuple(map(no_change, known, known))
    unsure = [int(change.sum()) if change.dtype is torch.bool else 0 for change in changes]
    types = (*dtypes, *(values.dtype for values in computed[len(dtypes) :]))
    tolerances = [
        tolerance_of(*given, device=reference.device, in_tf32=number in reached)
        for number, given in enumerate(zip(known, computed, changes, types, strict=False))
    ]
    if any(tolerance.undefined for tolerance in tolerances):
        signed = not any(map(SIGN_OF_ZERO.search, operations_in(partial(reference.native, inputs))))
        tolerances = [replace(tolerance, signed=signed) for tolerance in tolerances]
    chosen = list(zip(choices, tolerances[len(dtypes) :], strict=False))
    with_ties = (_with_ties(*each, chosen) for each in zip(tolerances[: len(dtypes)], unsure, strict=False))
    return Expected(tuple(with_ties), layouts, apart)


def _with_ties(tolerance: Tolerance, unsure: int, choices: Sequence[tuple[Choice, Tolerance]]) -> Tolerance:
    """The tolerance of an output; if it holds the indices of a choice, they are judged by the values there."""
    found = tolerance.expected.reshape(-1)
    for choice, values in choices if not found.is_floating_point() else ():
        if torch.equal(found.to(choice.indices), choice.indices.reshape(-1)):
            ties = Ties(values, choice.indices, choice.dim, choice.distinct, unsure)
            tolerance = replace(tolerance, allowed=torch.full_like(tolerance.allowed, INTEGER_ERROR), ties=ties)
    return tolerance


def _native(reference: Reference, inputs: Sequence[Any]) -> tuple[Tensors, Tensors, bool]:
    """The outputs of the reference in its own precision, as numbers that torch can compare, and without values; and
    whether they lie apart."""
    before = [copied(x, reference.device) if isinstance(x, torch.Tensor) else x for x in inputs]
    native = reference.native(inputs)
    if not all(same_bits(a, b) for a, b in zip(inputs, before, strict=True) if isinstance(a, torch.Tensor)):
        raise TaskError(
            "the reference changes its inputs in forward()", hint="make it compute on a copy, as with inplace=False"
        )
    apart = len({t.untyped_storage().data_ptr() for t in native}) == len(native)
    layouts = (torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta") for t in native)
    return tuple(map(as_numbers, native)), tuple(layouts), apart


def _tf32_operations(reference: Reference, inputs: Sequence[Any]) -> frozenset[str]:
    """The operations that the reference may do in TF32."""
    tensors = [x for x in (*inputs, *reference.state.values()) if isinstance(x, torch.Tensor)]
    in_float32 = any(x.dtype is torch.float32 for x in tensors)
    usual = reference.task.precision is Precision.DEFAULT
    return tf32_operations(reference.device) if usual and in_float32 else frozenset()


def _also_in_tf32(
    computed: Tensors, known: Tensors, operations: frozenset[str], run: Callable[[], _Run]
) -> tuple[Tensors, set[int]]:
    """What the reference computed, each value replaced by what it is in TF32 where that is farther from the known one.

    Returns:
        The values, and the numbers of the tensors that TF32 changes.
    """
    reached = set[int]()
    deadline = time.monotonic() + RUNNING_S
    for draw in range(MOST_RUNS):
        if draw >= LEAST_RUNS and time.monotonic() > deadline:
            break
        try:
            with InTf32(operations, draw):
                values = run().values
        except TaskSizeError:  # rounded factors need more room; a run of so large sizes was in TF32 where it may
            break
        computed = (*map(farther, computed, values, known), *computed[len(values) :])
        pairs = enumerate(zip(values, known, strict=False))
        reached |= {number for number, pair in pairs if not torch.equal(*pair)}
        del values, pairs  # large ones have no room beside those of the next run
    return computed, reached


def _sure_of_sides(
    computed: Tensors, known: Tensors, reference: Reference, inputs: Sequence[Any], watch: Watch
) -> Tensors:
    """What the reference computed, NaN where it is on the other side of a jump than in float64: any value is right.

    There a constant lies between an input and its own rounding. In C++ `x > 0.1` compares with the number in float64.
    """
    by = SIDES * max((torch.finfo(x.dtype).eps for x in inputs if is_float(x)), default=0.0)
    runs = [watch(partial(reference.oracle, inputs, perturbed=0, by=change)).values for change in (by, -by)]

    def sure(native: torch.Tensor, exact: torch.Tensor, *beside: torch.Tensor) -> torch.Tensor:
        if not native.is_floating_point():
            return native
        off = (native - exact).abs()
        beyond = off > roundings_of(native.dtype) * torch.finfo(native.dtype).eps * exact.abs()
        jumps = [(native - other).abs() < off / 2 for other in beside]
        return native.masked_fill(beyond & (jumps[0] | jumps[1]), torch.nan)

    return tuple(map(sure, computed, known, *runs))


def _add_perturbations(
    changes: Tensors, known: Tensors, reference: Reference, inputs: Sequence[Any], watch: Watch, *, at_edges: bool
) -> None:
    """Change inputs and parameters a little, several times, and keep the largest change of each value.

    At edges a value may jump, which no candidate's rounding causes: there the change between two perturbations counts.
    Where a change leaves the domain of an operation, the opposite one may stay inside.
    """

    def changed(seed: int, by: float) -> Tensors:
        return watch(partial(reference.oracle, inputs, perturbed=seed, by=by)).values

    deadline = time.monotonic() + RUNNING_S
    for seed in range(MOST_RUNS):
        if seed >= LEAST_RUNS and time.monotonic() > deadline:
            return
        for by in (PERTURBATION, -PERTURBATION):
            if add_changes(changes, changed(seed, by / NEARER) if at_edges else known, changed(seed, by)):
                break

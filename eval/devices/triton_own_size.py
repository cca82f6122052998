"""Try a Triton candidate at the task's own sizes, where the interpreter is often too slow for all programs."""

import math
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product

import torch

from eval.devices.triton_plan import Launch
from eval.devices.triton_trial import MOST_BYTES, KernelTrial, PlannedCall
from eval.fault import Fault
from eval.oracle.cases import Case, count_elements, make_case, new_seed
from eval.oracle.reference import Reference
from kb.errors import TaskError
from kb.types.evidence import CaseResult, Outcome
from kb.types.kernels import Interface

MOST_ELEMENTS, MOST_OPERATIONS = 1 << 27, 1 << 35
"""Elements of all tensors, and operations of matrix products, up to which the reference takes a few seconds."""
LEAST_PROGRAMS, MOST_PROGRAMS = 16, 256
"""Programs that must be tried to know that most do nothing, and that are tried."""
SAMPLE_S, PROGRAM_S, WHOLE_S = 2.0, 20.0, 60.0
"""Time for the programs drawn from a launch, for one of them, and for a call of all."""
BATCH = 16
"""Most programs after which the outputs are read."""
SHARE, ERRORS = 0.9, 4.0
"""All programs must write this share of the elements that need it, as estimated from those tried, give or take some
standard errors: in a grid with spare programs, few of them write."""

Program = tuple[int, ...]


def own_case(reference: Reference, interface: Interface) -> Case | None:
    """The task at its own sizes; None if the reference would take too long, fails or is not finite there."""
    if count_elements(interface) > MOST_ELEMENTS or interface.matrix_operations > MOST_OPERATIONS:
        return None
    with suppress(TaskError):
        case = make_case("the task's own sizes", reference, reference.inputs(new_seed()))
        return case if case.is_finite else None
    return None


def try_own_size(trial: KernelTrial, own: PlannedCall, case: Case) -> list[CaseResult]:
    """Run programs of the launches that write the outputs last; if these decide nothing, run all launches.

    Returns:
        A result for each of these launches, or one for all.

    Raises:
        Fault: the candidate is refused; with the outcome `untried`, neither decides about it.
    """
    if own.plan.size > MOST_BYTES:
        raise Fault(Outcome.UNTRIED, f"at the task's own sizes it keeps or allocates more than {MOST_BYTES >> 30} GiB")
    last = [own.plan.last_step(output) for output in own.plan.outputs]
    try:
        return [_tried(trial, own, case, step, [s == step for s in last]) for step in sorted(set(last))]
    except Fault as fault:
        if fault.outcome not in (Outcome.UNTRIED, Outcome.TIMED_OUT):
            raise
        return _try_whole(replace(trial, calls=(own,), call_s=WHOLE_S), case, fault.detail)


def _try_whole(trial: KernelTrial, case: Case, why: str) -> list[CaseResult]:
    """Run all launches of a call, because single programs decide nothing."""
    results: list[CaseResult] = []
    try:
        trial.check([case], results)
    except Fault as fault:
        if fault.outcome != Outcome.TIMED_OUT:
            raise Fault(fault.outcome, fault.detail) from fault  # its number is that of the only case here
        untried = f"its values at the task's own sizes are untried: {why}; all programs take more than {WHOLE_S:.0f} s"
        raise Fault(Outcome.UNTRIED, untried) from fault
    return results


def _tried(trial: KernelTrial, own: PlannedCall, case: Case, step: int, writes: Sequence[bool]) -> CaseResult:
    """Try the launch of one step, which is the last to write some of the outputs."""
    launch = own.plan.steps[step].launch
    if launch is None:
        raise Fault(Outcome.UNTRIED, "forward fills an output after its kernels have run")
    programs, total = _drawn(launch), math.prod(launch.grid)
    sample = replace(trial, calls=(own,), drawn={"step": step, "programs": programs})
    before, after, batches = _run(sample, case, len(programs), writes)
    tried = sum(programs for programs, _ in batches)
    name = f"{tried} of {total} programs of {launch.kernel} at the task's own sizes"
    alone = not any(
        own.plan.launched_before(step, output) for output, mine in zip(own.plan.outputs, writes, strict=True) if mine
    )
    whole = alone and tried == total
    written = [(_differ(a, b) | whole) & mine for b, a, mine in zip(before, after, writes, strict=True)]
    outputs = [torch.where(w, a, e.to(a.dtype)) for w, a, e in zip(written, after, case.expected, strict=True)]
    result = case.compare(outputs)
    if result.outcome is not Outcome.PASSED:
        raise Fault(Outcome.INCORRECT, f"{result.detail} ({name})")
    needed = sum(_count_wrong(case, number, before[number]) for number, mine in enumerate(writes) if mine)
    if _most_written(batches) * total < SHARE * needed:
        if not alone:
            raise Fault(Outcome.UNTRIED, "several launches write the same output")
        if tried < LEAST_PROGRAMS:
            raise Fault(Outcome.UNTRIED, f"the interpreter has time for only {tried} of {total} programs")
        count = sum(count for _, count in batches)
        raise Fault(Outcome.INCORRECT, f"{name} write {count} elements; all together must write {needed}")
    return result.model_copy(update={"name": name})


def _run(
    trial: KernelTrial, case: Case, programs: int, writes: Sequence[bool]
) -> tuple[list[torch.Tensor], list[torch.Tensor], list[tuple[int, int]]]:
    """Run as many of the drawn programs as there is time for.

    Returns:
        The outputs before and after, and for each batch how many programs wrote how many elements.
    """
    batches: list[tuple[int, int]] = []
    with trial.worker() as worker:
        trial.build(worker, case.reference, case)
        shared = trial.memory.share(worker, [case.inputs])
        trial.send_inputs(worker, shared)
        after = before = trial.read_outputs(worker, trial.call(worker, 0), case)
        left, deadline = programs, time.monotonic() + SAMPLE_S
        while left and (now := time.monotonic()) < deadline:
            count = 0
            while count < min(BATCH, left) and time.monotonic() <= now + SAMPLE_S / BATCH:
                report, count = trial.call(worker, 0, within_s=PROGRAM_S), count + 1
            earlier, after = after, trial.read_outputs(worker, report, case)
            changed = (int(_differ(a, b).sum()) for a, b, w in zip(earlier, after, writes, strict=True) if w)
            batches.append((count, sum(changed)))
            left -= count
        if not shared.unchanged(0, case.inputs):
            raise Fault(Outcome.MUTATED_INPUT, f"the call changed its inputs ({case.name})")
    return before, after, batches


def _most_written(batches: Sequence[tuple[int, int]]) -> float:
    """The elements that a program writes, at most: the mean and some standard errors, of a ratio of two sums."""
    programs, elements = (sum(numbers) for numbers in zip(*batches, strict=True)) if batches else (0, 0)
    mean = elements / max(1, programs)
    return mean + ERRORS * math.hypot(*(count - mean * tried for tried, count in batches)) / max(1, programs)


def _drawn(launch: Launch) -> list[Program]:
    """Programs of a launch in random order: all, or as many as there is ever time for."""
    chance, grid = random.SystemRandom(), (*launch.grid, 1, 1)[:3]
    if math.prod(grid) > MOST_PROGRAMS:
        return list({tuple(chance.randrange(size) for size in grid): None for _ in range(MOST_PROGRAMS)})
    programs: list[Program] = list(product(*map(range, grid)))
    return chance.sample(programs, len(programs))


def _differ(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Where two tensors differ; NaN is like NaN."""
    return (one != other) & ~(one.isnan() & other.isnan())


def _count_wrong(case: Case, number: int, output: torch.Tensor) -> int:
    return int((~(case.tolerances[number].compare(output)[1] <= 1)).sum())

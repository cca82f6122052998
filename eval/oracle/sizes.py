"""Other sizes for a task: smaller ones, most of them odd, at which each element decides more."""

import math
import random
import time
from collections.abc import Callable
from functools import partial
from itertools import product

import torch

from eval.oracle.constants import integer_constants
from eval.oracle.reference import Reference
from kb.errors import TaskError
from kb.types.kernels import Interface, Task

SMALLEST_SIZES = (16, 8, 4, 2)
"""Lower bounds for shrinking sizes, tried in this order: the smallest sizes may be kernel widths or group counts."""
SHRINKING_STEPS, SHRINKING_S = 24, 20.0
"""Most halvings, and the time for all attempts: a reference that must be run may be slow to build."""
ODD_CHOICES = 4
TOLERATED_EXCESS = 16
"""Factor by which a case may exceed the intended number of elements, for tasks with sizes that are not constants."""

Change = Callable[[dict[str, int]], dict[str, int]]


def smaller_sizes(task: Task, *, elements: int, odd: bool | None, device: str = "cpu") -> dict[str, int] | None:
    """The task's sizes, divided until all its tensors together have at most about `elements` elements.

    A reference that needs values, or that makes tensors on a device, cannot be tried without values; then it is run.

    Args:
        odd: Make the changed sizes odd and distinct if the task accepts that, otherwise one of them. Then no
            block size divides them, and a candidate that confuses two sizes fails. False: make them even, distinct and
            no multiples of eight, or one of them, or leave them. None: leave them as they are divided, like blocks.
        device: Where the reference is tried if it needs values.

    Returns:
        The sizes by name, or None if the file has no sizes to change or the reference fails at all smaller sizes.
    """
    own = integer_constants(task)
    cheapest = "meta" if _elements_at(task, own, "meta", most=math.inf) < math.inf else device
    fewest: tuple[float, dict[str, int]] = (math.inf, {})
    tried: list[tuple[Change, dict[str, int]]] = []
    change_all = _all_odd if odd else _all_even
    some: list[Change] = [] if odd is None else [change_all, *(partial(_only, name, change_all) for name in own)]
    changes = some if odd else [*some, dict]
    deadline = time.monotonic() + SHRINKING_S
    for change, smallest, step in product(changes, SMALLEST_SIZES, range(1, SHRINKING_STEPS)):
        large = {name: max(smallest, value // 2**step) for name, value in own.items() if value > smallest}
        if (change, large) in tried:
            continue
        if time.monotonic() > deadline:
            break
        tried.append((change, large))
        sizes = change(large)
        count = _elements_at(task, sizes, cheapest, most=elements * TOLERATED_EXCESS)
        if count <= elements:
            return sizes
        fewest = min(fewest, (count, sizes), key=lambda found: found[0])
    return fewest[1] if fewest[0] <= elements * TOLERATED_EXCESS else None


def _elements_at(task: Task, sizes: dict[str, int], device: str, *, most: float) -> float:
    """How many elements all tensors have at some sizes; infinite if an output has none, which would show nothing, if
    the reference fails, or if inputs have over `most`.
    """
    try:
        reference = Reference(task, seed=0, sizes=sizes, device=device)
        given = (*reference.inputs(0), *reference.state.values())
        if sum(x.numel() for x in given if isinstance(x, torch.Tensor)) > most:
            return math.inf
        interface = reference.interface()
        return math.inf if any(0 in output.shape for output in interface.outputs) else count_elements(interface)
    except TaskError:
        return math.inf


def _all_odd(sizes: dict[str, int]) -> dict[str, int]:
    """Make all sizes odd and distinct, in an unpredictable way."""
    steps = random.SystemRandom().sample(range(len(sizes) + ODD_CHOICES), len(sizes))
    found: dict[str, int] = {}
    for (name, size), step in zip(sizes.items(), sorted(steps), strict=True):
        odd = (size | 1) + 2 * step
        while odd in found.values():
            odd += 2
        found[name] = odd
    return found


def _all_even(sizes: dict[str, int]) -> dict[str, int]:
    """Sizes near these, each two or four times an odd number: blocks of two or four divide them, larger ones do not."""
    factors = {name: random.SystemRandom().choice((2, 4)) for name in sizes}
    parts = _all_odd({name: size // factors[name] for name, size in sizes.items()})
    return {name: factors[name] * part for name, part in parts.items()}


def _only(name: str, change: Change, sizes: dict[str, int]) -> dict[str, int]:
    return {**sizes, **change({name: sizes[name]})} if name in sizes else sizes


def count_elements(interface: Interface) -> int:
    tensors = (*interface.inputs, *interface.state, *interface.outputs)
    return sum(torch.Size(t.shape).numel() for t in tensors)

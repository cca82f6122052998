"""Run the process that audits one task, which eval.audit.driver starts: `python -P -m eval.audit.task_audit BYTES`.

It reads the task from standard input and writes what it has found out after each step, one JSON line each, so that the
driver has a result even if a step never ends.
"""

import math
import os
import resource
import sys
import time
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from eval.audit.driver import Audit, Usability
from eval.judge.driver import CALL_S
from eval.oracle.cases import (
    Case,
    check_new_outputs,
    check_repeatable,
    count_elements,
    draw_cases,
    given_case,
    make_case,
    new_seed,
    smaller_sizes,
)
from eval.oracle.degenerate import degenerate_answers
from eval.oracle.reference import Reference, integer_constants
from eval.oracle.values import learn_structures
from eval.roofline import operand_type, tensor_bytes
from eval.supervisor.tree import free_bytes
from kb.errors import TaskError
from kb.types.kernels import Interface, Task

ELEMENTS = 1 << 20
"""Most elements of a task that is run at its own sizes; a larger one runs at other sizes, if it has some."""
PRECISIONS = 3
"""The judge runs the reference in its own precision and in float64, which is twice as wide as most types."""
SLOW_S = CALL_S * (os.cpu_count() or 1)
"""Time of a call on one thread above which a task is too slow for the judge, which uses all threads."""
CHEAP_S, CHEAP_ELEMENTS = 1.0, 1 << 24
"""Most time of a call and most elements of a task that is also run at its own sizes."""
NO_MEMORY = "can't allocate memory"
"""Part of torch's error when the limit is reached."""


class PeakMemory(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the bytes of all tensors that operations create while it is active, on any device and without values.

    Attributes:
        peak_bytes: Most bytes that lived at once.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._live: dict[int, int] = {}
        self.peak_bytes = self._bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                self._count(tensor.untyped_storage())
        return result

    def _count(self, storage: torch.UntypedStorage) -> None:
        key = id(storage)
        if key in self._live:
            return
        self._live[key] = storage.nbytes()
        self._bytes += storage.nbytes()
        self.peak_bytes = max(self.peak_bytes, self._bytes)
        weakref.finalize(storage, self._free, key)

    def _free(self, key: int) -> None:
        self._bytes -= self._live.pop(key, 0)


def audit(task: Task) -> Iterator[Audit]:
    """What is found out about a task, ever more; the last is complete. `reason` names the step that comes next."""
    found = Audit(task=task.name, task_digest=task.digest, reason="loading it")
    try:
        for found in _steps(task, found):  # noqa: B020 - each step adds to what the last has found
            yield found
    except (TaskError, RuntimeError, MemoryError) as error:
        if found.verdict is Usability.REFUSED:  # only its own sizes could not be tried
            return
        verdict = Usability.FAILS if found.call_s is None else Usability.REFUSED
        if isinstance(error, MemoryError) or NO_MEMORY in str(error):
            verdict = Usability.NOT_HERE
        yield found.model_copy(update={"verdict": verdict, "reason": str(error) or "memory is short"})


def _steps(task: Task, found: Audit) -> Iterator[Audit]:
    """The steps of an audit; the reason of each result but the last is what comes next.

    The memory estimate is the peak of the reference's tensors in one call, inputs and parameters included, times
    PRECISIONS. The time estimate scales the time at smaller sizes with the operations or, without any, the elements.
    """

    def known(reason: str, **more: Any) -> Audit:
        nonlocal found
        found = found.model_copy(update={**more, "reason": reason})
        return found

    yield found
    interface, peak_bytes = _shapes(task)
    tensors = (*interface.inputs, *interface.state, *interface.outputs)
    yield known(
        "finding other sizes",
        elements=count_elements(interface),
        size_bytes=sum(map(tensor_bytes, tensors)),
        operations=interface.matrix_operations,
        dtype=operand_type(interface),
        memory_bytes=PRECISIONS * peak_bytes,
    )
    constants = integer_constants(task)
    parameters = sum(math.prod(tensor.shape) for tensor in interface.state)
    other = smaller_sizes(task, elements=ELEMENTS, odd=True) or smaller_sizes(task, elements=parameters, odd=True)
    changed = tuple(name for name, size in (other or {}).items() if size != constants[name])
    yield known("running the reference", sizes=changed)
    if other is None and (shortage := _shortage(found)):
        yield known(f"{shortage}, and it has no smaller sizes")
        return
    sizes = other if other and count_elements(interface) > ELEMENTS else {}
    reference = Reference(task, seed=new_seed(), sizes=sizes)
    if not all(bool(torch.isfinite(output).all()) for output in reference.native(reference.inputs(new_seed()))):
        yield known("the reference gives infinities or NaN", verdict=Usability.REFUSED)
        return
    try:
        check_repeatable(reference)
    except TaskError as error:
        yield known(f"the reference draws random numbers: {error.message}", random=True, verdict=Usability.REFUSED)
        return
    call_s = _seconds(reference) * _growth(interface, _shapes(task, sizes)[0])
    yield known("trying answers that compute nothing", call_s=call_s)
    check_new_outputs(reference)
    passing = degenerate_answers(_cases(task, reference, sizes, found))
    if passing and sizes and not _shortage(found):  # very small tasks can be too sensitive to tell anything
        reason = f"an answer that computes nothing passes at other sizes than its own: {', '.join(passing)}"
        yield known(reason, degenerate=passing, verdict=Usability.REFUSED)
        own = Reference(task, seed=new_seed())
        given = [make_case("sizes as given", own, own.inputs(new_seed())) for _ in range(2)]
        passing = tuple(answer for answer in degenerate_answers(given) if answer in passing)
    if passing:
        reason = f"an answer that computes nothing passes: {', '.join(passing)}"
        yield known(reason, degenerate=passing, verdict=Usability.REFUSED)
    elif shortage := _shortage(found) or _slowness(found):
        yield known(shortage, degenerate=(), verdict=Usability.NOT_HERE)
    else:
        yield known("", degenerate=(), verdict=Usability.USABLE)


def _shortage(found: Audit) -> str:
    """Why a task does not fit into the memory of this machine; empty if it does."""
    needed, free = found.memory_bytes or 0, free_bytes()
    sizes = f"it needs about {needed / 2**30:.1f} GiB in float64; {free / 2**30:.1f} GiB are free"
    return sizes if needed > free else ""


def _slowness(found: Audit) -> str:
    """Why a task takes too long on this machine; empty if it does not."""
    call_s = found.call_s or 0.0
    return f"a call in float64 takes about {call_s:,.0f} s on one thread" if call_s > SLOW_S else ""


def _cases(task: Task, reference: Reference, sizes: Mapping[str, int], found: Audit) -> list[Case]:
    """Cases at the sizes of `reference`; also at the task's own, if those are cheap.

    Raises:
        TaskError: the reference is not finite at its own sizes, or gives the same outputs on other inputs.
    """
    tried = list(draw_cases(reference, learn_structures(reference), budget_s=0.0))  # given and mixed values
    if not sizes:
        return [*tried, given_case("sizes as given", reference)]
    if (found.call_s or 0.0) > CHEAP_S or (found.elements or 0) > CHEAP_ELEMENTS:
        return tried
    return [*tried, given_case("sizes as given", Reference(task, seed=new_seed()))]


def _shapes(task: Task, sizes: Mapping[str, int] | None = None) -> tuple[Interface, int]:
    """The interface at some sizes, and the peak of its tensors in bytes.

    Computes no values if torch can infer the shapes.
    """
    try:
        with PeakMemory() as memory:
            return Reference(task, seed=0, sizes=sizes, device="meta").interface(), memory.peak_bytes
    except TaskError:
        with PeakMemory() as memory:
            return Reference(task, seed=0, sizes=sizes).interface(), memory.peak_bytes


def _seconds(reference: Reference) -> float:
    """Time of one call in float64; the first call is not timed."""
    inputs = reference.inputs(new_seed())
    reference.oracle(inputs)
    start = time.perf_counter()
    reference.oracle(inputs)
    return time.perf_counter() - start


def _growth(whole: Interface, part: Interface) -> float:
    """How much more work a task is at its own sizes than at smaller ones."""
    if part.matrix_operations:
        return whole.matrix_operations / part.matrix_operations
    return count_elements(whole) / max(1, count_elements(part))


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the task prints must not mix with the answers
    limit = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    for found in audit(Task.model_validate_json(sys.stdin.read())):
        print(found.model_dump_json(), file=answers, flush=True)


if __name__ == "__main__":
    main()

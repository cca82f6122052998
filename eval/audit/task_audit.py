"""Run the process that audits one task, which eval.audit.driver starts: `python -P -m eval.audit.task_audit BYTES`.

It reads the task from standard input and writes what it has found out after each step, one JSON line each, so that the
driver has a result even if a step never ends.
"""

import math
import os
import resource
import secrets
import sys
import time
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from eval.audit.driver import Audit, Verdict
from eval.cases import Case, cases, count_elements, given_case, smaller_sizes
from eval.degenerate import degenerate_answers
from eval.judge.driver import CALL_S
from eval.machine import free_bytes
from eval.reference import Reference, integer_constants, same_bits
from eval.roofline import operand_type, tensor_bytes
from kb.errors import TaskError
from kb.model.kernels import Interface, Task

ELEMENTS = 1 << 20
"""Most elements of a task that is run at its own sizes; a larger one runs at other sizes, if it has some. Parameters may
have more."""
PRECISIONS = 3
"""The judge runs the reference in its own precision and in float64, which is twice as wide as most types."""
NO_MEMORY = "can't allocate memory"
"""Part of torch's error when the limit is reached."""


def audit(task: Task) -> Iterator[Audit]:
    """What is found out about a task, ever more; the last is complete. `reason` names the step that comes next."""
    found = Audit(task=task.name, task_digest=task.digest, reason="loading it")
    try:
        for found in _steps(task, found):  # noqa: B020 - each step adds to what the last has found
            yield found
    except TaskError as error:
        runs = found.call_s is not None
        fails = Verdict.NOT_HERE if NO_MEMORY in error.message else Verdict.FAILS
        yield found.model_copy(update={"verdict": Verdict.REFUSED if runs else fails, "reason": error.message})


def _steps(task: Task, found: Audit) -> Iterator[Audit]:
    """The steps of an audit.

    The memory estimate is the peak of the reference's tensors in one call, inputs and parameters included, times
    PRECISIONS. The time estimate scales the time at smaller sizes with the operations or, without any, the elements.
    """
    yield found
    interface, peak_bytes = _shapes(task)
    known: dict[str, Any] = {
        "elements": count_elements(interface),
        "size_bytes": sum(map(tensor_bytes, (*interface.inputs, *interface.state, *interface.outputs))),
        "operations": interface.matrix_operations,
        "dtype": operand_type(interface),
        "memory_bytes": PRECISIONS * peak_bytes,
    }
    yield (found := found.model_copy(update={**known, "reason": "finding other sizes"}))
    given = integer_constants(task)
    fixed = sum(math.prod(tensor.shape) for tensor in interface.state)
    other = smaller_sizes(task, elements=max(ELEMENTS, fixed), odd=True)
    changed = tuple(name for name, size in (other or {}).items() if size != given[name])
    yield (found := found.model_copy(update={"sizes": changed, "reason": "running the reference"}))
    needed = PRECISIONS * peak_bytes
    if other is None and needed > free_bytes():
        yield found.model_copy(update={"reason": f"it needs about {needed / 2**30:.1f} GiB and has no smaller sizes"})
        return
    sizes = other if other and count_elements(interface) > ELEMENTS else {}
    reference = Reference(task, seed=secrets.randbits(62), sizes=sizes)
    inputs = reference.inputs(1)
    first, second = reference.native(inputs), reference.native(inputs)
    if not all(map(same_bits, first, second)):
        reason = "the reference draws random numbers: it gives other outputs on the same inputs"
        yield found.model_copy(update={"random": True, "verdict": Verdict.REFUSED, "reason": reason})
        return
    call_s = _seconds(reference, inputs) * _growth(interface, _shapes(task, sizes)[0])
    yield (found := found.model_copy(update={"call_s": call_s, "reason": "trying answers that compute nothing"}))
    yield _judged(found, _cases(reference, sizes))


def _judged(found: Audit, tried: list[Case]) -> Audit:
    """The verdict, when all else is known."""
    needed, call_s = found.memory_bytes or 0, found.call_s or 0.0
    if passing := tuple(degenerate_answers(tried)):
        reason = f"an answer that computes nothing passes: {', '.join(passing)}"
        return found.model_copy(update={"degenerate": passing, "verdict": Verdict.REFUSED, "reason": reason})
    if needed > (free := free_bytes()):
        reason = f"it needs about {needed / 2**30:.1f} GiB in float64; {free / 2**30:.1f} GiB are free"
        return found.model_copy(update={"reason": reason})
    if call_s > CALL_S * (os.cpu_count() or 1):
        return found.model_copy(update={"reason": f"a call in float64 takes about {call_s:,.0f} s on one thread"})
    return found.model_copy(update={"verdict": Verdict.USABLE, "reason": ""})


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


def _cases(reference: Reference, sizes: dict[str, int]) -> list[Case]:
    return [given_case("values as given", reference), *cases(reference, sizes=sizes)]


def _seconds(reference: Reference, inputs: list[Any]) -> float:
    """Time of one call in float64, without the conversion; the first call is not timed."""
    reference.oracle(inputs)
    start = time.perf_counter()
    reference.oracle(inputs)
    return time.perf_counter() - start


def _growth(whole: Interface, part: Interface) -> float:
    """How much more work a task is at its own sizes than at smaller ones."""
    if part.matrix_operations:
        return whole.matrix_operations / part.matrix_operations
    return count_elements(whole) / max(1, count_elements(part))


class PeakMemory(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the bytes of all tensors that operations create while it is active, also of those without values."""

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


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the task prints must not mix with the answers
    limit = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    for found in audit(Task.model_validate_json(sys.stdin.read())):
        print(found.model_dump_json(), file=answers, flush=True)


if __name__ == "__main__":
    main()

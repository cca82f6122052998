"""Run the process that audits one task, which `audit.py` starts.

    python -P -m benchmarks.kernelbench.audit_process BYTES

It reads the task from standard input and writes what it has found out after each step, one JSON line each, so that the
driver has a result even if a step never ends.
"""

import math
import os
import resource
import sys
from collections.abc import Iterator
from typing import Any

import torch

from benchmarks.kernelbench.audit import Audit, Usability
from benchmarks.kernelbench.degenerate import degenerate_answers
from eval.oracle.cases import Case, check_new_outputs, check_repeatable, draw_cases, given_case, make_case, new_seed
from eval.oracle.constants import integer_constants
from eval.oracle.reference import Reference, interface_of
from eval.oracle.sizes import count_elements, smaller_sizes
from eval.oracle.values import learn_structures
from eval.roofline import tensor_bytes
from eval.supervisor.tree import free_bytes
from kb.errors import TaskError
from kb.types.kernels import Interface, Task

ELEMENTS = 1 << 20
"""Most elements of a task that is run at its own sizes; a larger one runs at other sizes, if it has some."""
PRECISIONS = 4
"""The judge runs the reference in its own precision and in float64, which is twice as wide as most types; the rest is
for what lies between inputs and outputs."""
CHEAP_ELEMENTS, CHEAP_OPERATIONS = 1 << 24, 1 << 32
"""Most elements, and operations in products, of a task that is also run at its own sizes."""
TRYING = "trying answers that compute nothing"
NO_MEMORY = "can't allocate memory"
"""Part of torch's error when the limit is reached."""


def audit(task: Task) -> Iterator[Audit]:
    """What is found out about a task, ever more; the last is complete. `reason` names the step that comes next."""
    found = Audit(task=task.name, task_digest=task.digest, reason="loading it")
    try:
        for found in _steps(task, found):  # noqa: B020 - each step adds to what the last has found
            yield found
    except (TaskError, RuntimeError, MemoryError) as error:
        if found.verdict is Usability.REFUSED:  # only its own sizes could not be tried
            return
        verdict = Usability.REFUSED if found.reason == TRYING else Usability.FAILS
        if isinstance(error, MemoryError) or NO_MEMORY in str(error):
            verdict = Usability.NOT_HERE
        yield found.model_copy(update={"verdict": verdict, "reason": str(error) or "memory is short"})


def _steps(task: Task, found: Audit) -> Iterator[Audit]:
    """The steps of an audit; the reason of each result but the last is what comes next."""

    def known(reason: str, **more: Any) -> Audit:
        nonlocal found
        found = found.model_copy(update={**more, "reason": reason})
        return found

    yield found
    interface = interface_of(task)
    yield known("finding other sizes")
    constants = integer_constants(task)
    parameters = sum(math.prod(tensor.shape) for tensor in interface.state)
    other = smaller_sizes(task, elements=ELEMENTS, odd=True) or smaller_sizes(task, elements=parameters, odd=True)
    changed = tuple(name for name, size in (other or {}).items() if size != constants[name])
    yield known("running the reference", sizes=changed)
    if other is None and (shortage := _shortage(interface)):
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
    reference.oracle(reference.inputs(new_seed()))
    yield known(TRYING)
    check_new_outputs(reference)
    cheap = count_elements(interface) <= CHEAP_ELEMENTS and interface.matrix_operations <= CHEAP_OPERATIONS
    passing = degenerate_answers(_cases(task, reference, own=cheap or not sizes))
    if passing and sizes and not _shortage(interface):  # very small tasks can be too sensitive to tell anything
        reason = f"an answer that computes nothing passes at other sizes than its own: {', '.join(passing)}"
        yield known(reason, degenerate=passing, verdict=Usability.REFUSED)
        own = Reference(task, seed=new_seed())
        given = [make_case("sizes as given", own, own.inputs(new_seed())) for _ in range(2)]
        passing = tuple(answer for answer in degenerate_answers(given) if answer in passing)
    if passing:
        reason = f"an answer that computes nothing passes: {', '.join(passing)}"
        yield known(reason, degenerate=passing, verdict=Usability.REFUSED)
    elif shortage := _shortage(interface):
        yield known(shortage, degenerate=(), verdict=Usability.NOT_HERE)
    else:
        yield known("", degenerate=(), verdict=Usability.USABLE)


def _shortage(interface: Interface) -> str:
    """Why a task does not fit into the memory of this machine; empty if it does."""
    tensors = (*interface.inputs, *interface.state, *interface.outputs)
    needed, free = PRECISIONS * sum(map(tensor_bytes, tensors)), free_bytes()
    sizes = f"it needs about {needed / 2**30:.1f} GiB in float64; {free / 2**30:.1f} GiB are free"
    return sizes if needed > free else ""


def _cases(task: Task, reference: Reference, *, own: bool) -> list[Case]:
    """Cases at the sizes of `reference`, and also at the task's own if `own` says so.

    Raises:
        TaskError: the reference is not finite at its own sizes, or gives the same outputs on other inputs.
    """
    tried = list(draw_cases(reference, learn_structures(reference), budget_s=0.0))  # given and mixed values
    return [*tried, given_case("sizes as given", Reference(task, seed=new_seed()))] if own else tried


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the task prints must not mix with the answers
    limit = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    for found in audit(Task.model_validate_json(sys.stdin.read())):
        print(found.model_dump_json(), file=answers, flush=True)


if __name__ == "__main__":
    main()

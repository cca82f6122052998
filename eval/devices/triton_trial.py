"""Try a Triton candidate without its chip: in the interpreter, and in a worker that compiles what it launches."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field, ValidationError

from eval.oracle.cases import Case
from eval.oracle.reference import Reference
from eval.screen.screen import Record
from eval.supervisor.process import WorkerProcess
from eval.supervisor.trial import CallReport, Trial
from eval.worker.channel import Message
from eval.worker.fault import Fault
from eval.worker.mapping import spec_of
from kb.errors import TaskError
from kb.types.base import Frozen
from kb.types.evidence import Outcome
from kb.types.kernels import Task

COMPILE_S = 300.0
"""Time limit for compiling the kernels of a call."""


@dataclass(frozen=True)
class InterpretedTrial(Trial):
    """Tries the kernels in Triton's interpreter, and learns which ones the candidate launches."""

    launched: set[str] = field(default_factory=set, kw_only=True)

    def release_outputs(self, worker: WorkerProcess, report: CallReport) -> None:
        super().release_outputs(worker, report)
        self.launched.update(_understood(worker.ask("launched")).launched)


class Launched(Frozen):
    """What a call launches, as a worker describes it."""

    launched: tuple[str, ...]
    """Names of the kernels."""
    kernels: tuple[Record, ...] = ()
    """Those that were compiled."""
    left_out: dict[str, int] = Field(default_factory=dict)
    """Number of configurations of autotuned kernels that were not compiled."""
    stopped: str = ""
    """Why the call did not come to its end."""


def compile_own(trial: Trial, worker: WorkerProcess, task: Task, reference: Reference) -> Launched:
    """Compile what a call at the task's own sizes launches, on inputs without values: for lack of them it may stop.

    Raises:
        Fault: a kernel does not compile, or the call fails.
    """
    trial.build(worker, reference)
    return _compiled(worker, inputs=[spec_of(value) for value in _own_inputs(task, reference)])


def compile_case(trial: Trial, worker: WorkerProcess, case: Case) -> Launched:
    """Compile what a call on a case launches. It may stop because no kernel computes anything; errors as above."""
    trial.build(worker, case.reference, case)
    trial.send_inputs(worker, trial.share(worker, [case.inputs]))
    return _compiled(worker, inputs=None)


def _compiled(worker: WorkerProcess, inputs: Sequence[Message] | None) -> Launched:
    return _understood(worker.ask("compile", inputs=inputs, within_s=COMPILE_S))


def _understood(answer: Message) -> Launched:
    try:
        return Launched.model_validate(answer)
    except ValidationError as error:
        raise Fault(Outcome.FORGED, f"not a list of launched kernels: {str(error)[:200]}") from error


def _own_inputs(task: Task, reference: Reference) -> list[Any]:
    """Inputs at the task's own sizes, without values if torch can draw them so."""
    try:
        return Reference(task, seed=0, device="meta").inputs(0)
    except TaskError:
        return reference.inputs(0)

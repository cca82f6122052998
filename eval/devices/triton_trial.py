"""Plan the calls of a Triton candidate in one worker, and try its kernels without its host code in another."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch

from eval.devices.triton_plan import Plan, plan_of
from eval.fault import Fault
from eval.oracle.cases import Case
from eval.oracle.reference import Reference
from eval.supervisor.process import WorkerProcess
from eval.supervisor.trial import Trial
from eval.worker.channel import Message
from eval.worker.mapping import spec_of
from kb.errors import TaskError
from kb.types.evidence import Outcome
from kb.types.target import Isa

MOST_BYTES = 1 << 30
"""Maximum size of all constants of a call that is run."""


@dataclass(frozen=True)
class PlannedCall:
    """A call of a candidate."""

    reference: Reference
    inputs: list[Message]
    """For each argument of forward its shape and type, or its value if it is not a tensor."""
    plan: Plan
    constants: list[torch.Tensor]
    """The bytes of the plan's constants; empty if only shapes matter."""


@dataclass(frozen=True)
class KernelTrial(Trial):
    """A trial of kernels, which are launched as the calls were planned."""

    isa: Isa = field(kw_only=True)
    """The target, which decides how `tl.dot` multiplies."""
    calls: tuple[PlannedCall, ...] = ()
    drawn: Mapping[str, Any] = field(default_factory=dict)
    """The `step` and the `programs` of its launch that are run in later calls, instead of all; empty for all."""

    def build(self, worker: WorkerProcess, reference: Reference, case: Case) -> None:
        calls = [call for call in self.calls if call.reference is reference]
        specs = self.memory.share(worker, [[constant for call in calls for constant in call.constants]]).specs[0]
        worker.ask(
            "build",
            adapter=str(self.language.adapter),
            drawn=self.drawn,
            isa=asdict(self.isa),
            plans=[call.plan.model_dump() | {"inputs": call.inputs} for call in calls],
            state=[{**spec, "name": str(number)} for number, spec in enumerate(specs)],
        )


def planned(trial: Trial, isa: Isa, cases: Iterable[Case], reference: Reference, own: Case | None) -> list[PlannedCall]:
    """The plans of all distinct calls in the cases, and last of that at the task's own sizes.

    Args:
        own: The case at the task's own sizes; None if only shapes matter there.

    Raises:
        Fault: the host code fails, works on values, or reports no plan.
    """
    calls: dict[tuple[int, str], PlannedCall] = {}
    with trial.worker() as worker:
        for case in cases:
            inputs = list(map(spec_of, case.inputs))
            key = id(case.reference), json.dumps(inputs)
            if key not in calls:
                calls[key] = _planned(trial, worker, isa, case.reference, inputs, with_constants=True)
        inputs = list(map(spec_of, own.inputs if own else _own_inputs(reference)))
        last = _planned(trial, worker, isa, reference, inputs, with_constants=False)
        if own and last.plan.size <= MOST_BYTES:
            last = replace(last, constants=_constants(trial, worker, last.plan))
    return [*calls.values(), last]


def _planned(
    trial: Trial, worker: WorkerProcess, isa: Isa, reference: Reference, inputs: list[Message], *, with_constants: bool
) -> PlannedCall:
    state = reference.state
    shared = trial.memory.share(worker, [list(state.values())])
    answer = worker.ask(
        "plan",
        adapter=str(trial.language.adapter),
        arguments=reference.arguments,
        state=[{**spec, "name": name} for name, spec in zip(state, shared.specs[0], strict=True)],
        inputs=inputs,
        isa=asdict(isa),
    )
    plan = plan_of(answer, input_bytes(inputs))
    constants = _constants(trial, worker, plan) if with_constants else []
    return PlannedCall(reference, inputs, plan, constants)


def _constants(trial: Trial, worker: WorkerProcess, plan: Plan) -> list[torch.Tensor]:
    if sum(constant.size for constant in plan.constants) > MOST_BYTES:
        raise Fault(Outcome.RAISED, f"the constructor and load_reference keep more than {MOST_BYTES >> 30} GiB")
    try:
        return [trial.memory.read(worker, constant.bytes_) for constant in plan.constants]
    except (ValueError, ProcessLookupError) as error:
        raise Fault(Outcome.FORGED, f"not a plan of launches: {error}") from error


def input_bytes(inputs: Sequence[Message]) -> list[int]:
    """Sizes of the tensors among the described inputs."""
    return [torch.Size(i["shape"]).numel() * getattr(torch, i["dtype"]).itemsize for i in inputs if "value" not in i]


def _own_inputs(reference: Reference) -> list[Any]:
    """Inputs at the sizes of the reference, without values if torch can draw them so."""
    try:
        with torch.device("meta"):
            return reference.inputs(0)
    except TaskError:
        return reference.inputs(0)

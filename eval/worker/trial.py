"""Try one candidate: build it in a worker, call it, and check its outputs from outside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import torch
from pydantic import Field, ValidationError

from eval.cases import Case
from eval.fault import Fault
from eval.reference import Reference, same_bits
from eval.timing import REUSED_MEMORY
from eval.worker.language import JudgedLanguage
from eval.worker.memory import HostMemory, Layout, Pointer, SharedTensors
from eval.worker.process import ALL_GUARDS, Guard, WorkerProcess
from kb.model.base import Frozen
from kb.model.evidence import CaseResult, Outcome
from kb.model.kernels import Candidate

SETTLE_S = 0.05
"""Time during which an output must not change after the call has returned."""
POISON = {"MALLOC_PERTURB_": "1"}
"""Makes glibc fill allocated memory with garbage."""


class CallReport(Frozen):
    """A worker's answer to `run`; see eval.worker.worker.Model."""

    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    """Time by the clock inside the worker."""
    layout: tuple[Layout, ...]
    pointers: tuple[tuple[Pointer, ...], ...]


@dataclass(frozen=True)
class Trial:
    """The settings for running one candidate. Nothing is started until it is needed."""

    candidate: Candidate
    language: JudgedLanguage
    level: int
    """Sandbox level."""
    call_s: float = 60.0
    """Time limit for one build or call."""
    guards: frozenset[Guard] = ALL_GUARDS
    environment: Mapping[str, str] = field(default_factory=dict)
    memory: HostMemory = field(default_factory=HostMemory)
    """How tensors are transferred between judge and worker."""

    def worker(self, *, poisoned: bool = False) -> WorkerProcess:
        """A worker. If it is poisoned, new memory holds garbage, so that no candidate can rely on zeros."""
        environment = {"OMP_NUM_THREADS": str(torch.get_num_threads()), **REUSED_MEMORY, **(POISON if poisoned else {})}
        return WorkerProcess(
            self.candidate,
            self.language,
            level=self.level,
            call_s=self.call_s,
            guards=self.guards,
            environment={**environment, **self.environment},
        )

    def check(self, cases: Sequence[Case], results: list[CaseResult]) -> str:
        """Try the cases in one worker; append a result for each that passed.

        Returns:
            The candidate's output.

        Raises:
            Fault: the candidate is refused; the detail names the case.
        """
        built: Reference | None = None
        with self.worker(poisoned=True) as worker:
            for case in cases:
                try:
                    if case.reference is not built:
                        self.build(worker, case.reference, case)
                        built = case.reference
                    results.append(self._try(worker, case))
                except Fault as fault:
                    raise Fault(fault.outcome, f"{fault.detail} ({case.name})") from fault
            worker.finish()
            return worker.log

    def build(self, worker: WorkerProcess, reference: Reference, case: Case) -> None:
        """Build the candidate with the reference's arguments and parameters."""
        state = reference.state
        shared = self.memory.share(worker, [list(state.values())])
        worker.ask(
            "build",
            adapter=str(self.language.adapter),
            **self.language.build_options(),
            arguments=reference.arguments,
            init=reference.numbers,
            state=[{**spec, "name": name} for name, spec in zip(state, shared.specs[0], strict=True)],
            outputs=[
                {"shape": list(e.shape), "dtype": str(d).removeprefix("torch.")}
                for e, d in zip(case.expected, case.dtypes, strict=True)
            ],
        )

    def send_inputs(self, worker: WorkerProcess, shared: SharedTensors) -> None:
        if self.language.tensors_alone and any("value" in spec for spec in shared.specs[0]):
            only = f"forward takes more than tensors, but a {self.language.name} candidate accepts only tensors"
            raise Fault(Outcome.INCOMPATIBLE_PARAMETERS, only)
        worker.ask("inputs", sets=shared.specs)

    def run(self, worker: WorkerProcess, count: int) -> CallReport:
        """Call the candidate on the first `count` input sets."""
        answer = worker.ask("run", sets=list(range(count)))
        if Guard.AT_ONCE not in self.guards:
            worker.let_run(4 * SETTLE_S)
        try:
            return CallReport.model_validate(answer)
        except ValidationError as error:
            raise Fault(Outcome.FORGED, f"not a valid answer to `run`: {error.errors()[0]['msg']}") from error

    def read_outputs(self, worker: WorkerProcess, answer: CallReport, case: Case, number: int) -> list[torch.Tensor]:
        """The outputs of one call, as they are in the worker's memory now.

        Raises:
            Fault: number, type or shape differ from the reference's, or an output overlaps an input.
        """
        if len(answer.layout) != len(case.expected):
            raise Fault(Outcome.BAD_OUTPUT, f"{len(answer.layout)} outputs; the reference gives {len(case.expected)}")
        if number >= len(answer.pointers) or len(answer.pointers[number]) != len(answer.layout):
            raise Fault(Outcome.FORGED, "the answer to `run` leaves out some outputs")
        try:
            return [
                self._read_output(worker, pointer, layout, dtype, tuple(expected.shape))
                for pointer, layout, dtype, expected in zip(
                    answer.pointers[number], answer.layout, case.dtypes, case.expected, strict=True
                )
            ]
        except ValueError as error:
            raise Fault(Outcome.BAD_OUTPUT, str(error)) from error
        except ProcessLookupError:
            raise Fault(Outcome.CRASHED, "its process died after it had answered") from None

    def _read_output(
        self, worker: WorkerProcess, pointer: int, layout: Layout, dtype: torch.dtype, shape: tuple[int, ...]
    ) -> torch.Tensor:
        wanted = str(dtype).removeprefix("torch.")
        if (layout.dtype, layout.shape) != (wanted, shape):
            got = f"{layout.dtype[:80]}{list(layout.shape)}"
            raise Fault(Outcome.BAD_OUTPUT, f"an output is {got}; the reference gives {wanted}{list(shape)}")
        size_bytes = layout.span * dtype.itemsize
        if Guard.ALIASING in self.guards and self.memory.lies_in_inputs(worker, pointer, size_bytes):
            raise Fault(Outcome.ALIASED_INPUT, "an output overlaps the memory of an input; return a new tensor")
        return self.memory.read(worker, pointer, layout)

    def _try(self, worker: WorkerProcess, case: Case) -> CaseResult:
        shared = self.memory.share(worker, [case.inputs])
        self.send_inputs(worker, shared)
        answer = self.run(worker, 1)
        outputs = self.read_outputs(worker, answer, case, 0)
        if Guard.AT_ONCE in self.guards:
            worker.let_run(SETTLE_S)
            later = self.read_outputs(worker, answer, case, 0)
            if not all(same_bits(a, b) for a, b in zip(outputs, later, strict=True)):
                raise Fault(Outcome.LATE_OUTPUT, "an output was still changing after the call had returned")
        if Guard.MUTATION in self.guards and not shared.unchanged(0, case.inputs):
            raise Fault(Outcome.MUTATED_INPUT, "the call changed its inputs")
        result = case.compare(outputs)
        if Guard.COMPARISON in self.guards and result.outcome is not Outcome.PASSED:
            raise Fault(Outcome.INCORRECT, result.detail)
        return result.model_copy(update={"outcome": Outcome.PASSED})

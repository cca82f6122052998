"""One candidate before the judge: built in a worker, called, and its outputs looked at from outside."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch

from eval.cases import Case
from eval.channel import Message
from eval.fault import Fault
from eval.memory import SharedTensors, mapped_file, read_tensor, same_bits
from eval.reference import Reference
from eval.worker_process import ALL_GUARDS, Guard, WorkerProcess
from kb.evidence import CaseResult, Outcome
from kb.kernels import Candidate, Language

SETTLE_S = 0.05
"""How long an output is watched for changes after the call has returned."""


@dataclass(frozen=True)
class Trial:
    """How one candidate is run. Nothing is started before it is asked for."""

    candidate: Candidate
    level: int
    """Of the sandbox."""
    compiler: str = ""
    """Path of the C++ compiler, for `cpp` candidates."""
    call_s: float = 60.0
    """Longest time for one build or call."""
    guards: frozenset[Guard] = ALL_GUARDS
    environment: Mapping[str, str] = field(default_factory=dict)

    def worker(self) -> WorkerProcess:
        environment = {"OMP_NUM_THREADS": str(torch.get_num_threads()), **self.environment}
        return WorkerProcess(
            self.candidate, level=self.level, call_s=self.call_s, guards=self.guards, environment=environment
        )

    def check(self, cases: Sequence[Case], results: list[CaseResult]) -> str:
        """Try the cases in one worker; append a result for each that passed.

        Returns:
            What the candidate printed.

        Raises:
            Fault: the candidate is refused; the detail names the case.
        """
        built: Reference | None = None
        with self.worker() as worker:
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
        """Make the candidate's model with the reference's arguments and parameters."""
        state = reference.state
        shared = SharedTensors(worker.folder / "state", [list(state.values())])
        worker.ask(
            "build",
            language=self.candidate.language,
            compiler=self.compiler,
            arguments=reference.arguments,
            init=reference.numbers,
            file="state",
            state=[{**spec, "name": name} for name, spec in zip(state, shared.specs[0], strict=True)],
            outputs=[
                {"shape": list(e.shape), "dtype": str(d).removeprefix("torch.")}
                for e, d in zip(case.expected, case.dtypes, strict=True)
            ],
        )

    def send_inputs(self, worker: WorkerProcess, shared: SharedTensors) -> None:
        if self.candidate.language is Language.CPP and any("value" in spec for spec in shared.specs[0]):
            raise Fault(
                Outcome.INCOMPATIBLE_PARAMETERS, "forward takes more than tensors, a cpp candidate takes those alone"
            )
        worker.ask("inputs", file=shared.path.name, sets=shared.specs)

    def read_outputs(self, worker: WorkerProcess, answer: Message, case: Case, number: int) -> list[torch.Tensor]:
        """The outputs of one call, as they stand in the worker's memory now.

        Raises:
            Fault: they are not what the reference gives by number, type and shape, or lie in an input.
        """
        if Guard.AT_ONCE not in self.guards:
            time.sleep(4 * SETTLE_S)
        places, expected = answer["outputs"][number], list(zip(case.expected, case.dtypes, strict=True))
        if len(places) != len(expected):
            raise Fault(Outcome.BAD_OUTPUT, f"{len(places)} outputs, the reference gives {len(expected)}")
        for place, (tensor, dtype) in zip(places, expected, strict=True):
            wanted = f"{str(dtype).removeprefix('torch.')}{list(tensor.shape)}"
            got = place.get("type") or f"{place['dtype']}{place['shape']}"
            if got != wanted:
                raise Fault(Outcome.BAD_OUTPUT, f"an output is {got}, the reference gives {wanted}")
            if Guard.ALIASING in self.guards and mapped_file(worker.pid, int(place["pointer"])).startswith(
                str(worker.folder)
            ):
                raise Fault(Outcome.ALIASED_INPUT, "an output lies in the memory of an input; return a new tensor")
        try:
            return [read_tensor(worker.pid, place) for place in places]
        except ValueError as error:
            raise Fault(Outcome.BAD_OUTPUT, str(error)) from error

    def _try(self, worker: WorkerProcess, case: Case) -> CaseResult:
        shared = SharedTensors(worker.folder / "inputs", [case.inputs])
        self.send_inputs(worker, shared)
        answer = worker.ask("run", sets=[0])
        outputs = self.read_outputs(worker, answer, case, 0)
        if Guard.MUTATION in self.guards and not shared.unchanged(0, case.inputs):
            raise Fault(Outcome.MUTATED_INPUT, "the call changed its inputs")
        if Guard.AT_ONCE in self.guards:
            time.sleep(SETTLE_S)
            later = self.read_outputs(worker, answer, case, 0)
            if not all(same_bits(a, b) for a, b in zip(outputs, later, strict=True)):
                raise Fault(Outcome.LATE_OUTPUT, "an output was still changing after the call had returned")
        result = case.compare(outputs)
        if Guard.COMPARISON in self.guards and result.outcome is not Outcome.PASSED:
            raise Fault(
                Outcome.INCORRECT,
                f"largest error {result.max_error:.3g}, {result.error_ratio:.3g} times what is allowed",
            )
        return result.model_copy(update={"outcome": Outcome.PASSED})

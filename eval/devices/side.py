"""One side of a comparison of times: a candidate or a baseline, called in a worker of its own."""

import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import torch

from eval.cases import Case
from eval.fault import Fault
from eval.reference import Reference
from eval.timing import Call
from eval.worker.process import Guard, WorkerProcess
from eval.worker.trial import Trial
from kb.model.evidence import Outcome

SLOTS = 4
"""Most places for the inputs of a call, of which one is drawn at random each time."""
MOST_BYTES = 512 << 20
"""Maximum size of all these places."""


class Answer(NamedTuple):
    """A timed call and its outputs."""

    call: Call
    outputs: list[torch.Tensor]


class Side:
    """Calls one candidate or baseline, whose worker is stopped between calls. Use it as a context manager.

    Every side is treated alike: it is stopped while the judge works, and each timed call follows an untimed one, which
    brings its threads and caches back to work.

    Args:
        case: Inputs at the task's sizes, with the expected shapes and types.
    """

    worker: WorkerProcess

    def __init__(self, trial: Trial, reference: Reference, case: Case) -> None:
        self._trial, self._reference, self._case = trial, reference, case

    def __enter__(self) -> Self:
        """Start the worker and build. Raises Fault if that fails."""
        self.worker = self._trial.worker()
        self.worker.__enter__()
        try:
            self._trial.build(self.worker, self._reference, self._case)
            size = sum(x.numel() * x.element_size() for x in self._case.inputs if isinstance(x, torch.Tensor))
            self._slots = max(1, min(SLOTS, MOST_BYTES // max(size, 1)))
            self._shared = self._trial.memory.share(self.worker, [self._case.inputs] * self._slots)
            self._trial.send_inputs(self.worker, self._shared)
            self.call(self._case.inputs)
        except BaseException:
            self.worker.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.worker.kill()

    def interrupt(self) -> None:
        """End the worker while another thread starts it; that thread then gets a Fault."""
        if hasattr(self, "worker"):
            self.worker.interrupt()

    def capture(self, *, on: bool) -> bool:
        """Let the worker record its calls and replay them from now on, or stop that; return whether it replays.

        A worker that fails to record is started anew, because the attempt leaves traces.
        """
        try:
            return self.worker.ask("capture", on=on).get("captured") is True
        except Fault:
            self.worker.kill()
            self.__enter__()
            return False

    def timed(self, arguments: Sequence[Any]) -> Answer:
        """A timed call on new arguments.

        Raises:
            Fault: the candidate failed, or changed its inputs.
        """
        if Guard.TURNS in self._trial.guards:
            self.call(self._case.inputs)
            return self.call(arguments)
        slot = self._write(arguments)
        self.call(self._case.inputs)
        return self._ask(slot, arguments)

    def call(self, arguments: Sequence[Any]) -> Answer:
        """A call without an untimed one before it; errors as in `timed`."""
        return self._ask(self._write(arguments), arguments)

    def _write(self, arguments: Sequence[Any]) -> int:
        slot = secrets.randbelow(self._slots)
        self._shared.write(slot, arguments)
        return slot

    def _ask(self, slot: int, arguments: Sequence[Any]) -> Answer:
        report = self._trial.call(self.worker, slot)
        call = Call(self.worker.answer_s * 1e6, report.seconds * 1e6, self.worker.late_s * 1e6)
        outputs = self._trial.read_outputs(self.worker, report, self._case)
        if Guard.MUTATION in self._trial.guards and not self._shared.unchanged(slot, arguments):
            raise Fault(Outcome.MUTATED_INPUT, "a timed call changed its inputs")
        self._trial.release_outputs(self.worker, report)
        return Answer(call, outputs)

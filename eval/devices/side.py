"""One side of a comparison of times: a candidate or a baseline, called in a worker of its own."""

import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import torch

from eval.cases import Case
from eval.fault import Fault
from eval.reference import Reference
from eval.timing import Call
from eval.worker.language import WAIT
from eval.worker.memory import Layout
from eval.worker.process import Guard, WorkerProcess
from eval.worker.trial import CallReport, Trial
from kb.model.evidence import Outcome

SLOTS = 4
"""Most places for the inputs of a call, of which one is drawn at random each time."""
SHORT_US = 1000.0
"""Of shorter calls, launching and answering take a considerable part. On a GPU they are recorded and replayed."""
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
        """Start the worker, build, and call once. Raises Fault if that fails."""
        self.worker = self._trial.worker()
        self.worker.__enter__()
        try:
            self._build()
            size = sum(x.numel() * x.element_size() for x in self._case.inputs if isinstance(x, torch.Tensor))
            self._slots = max(1, min(SLOTS, MOST_BYTES // max(size, 1)))
            self._shared = self._trial.memory.share(self.worker, [self._case.inputs] * self._slots)
            self._trial.send_inputs(self.worker, self._shared)
            self._layouts: Sequence[Layout] = ()
            self.call(self._case.inputs)
        except BaseException:
            self.worker.kill()
            raise
        return self

    def _build(self) -> None:
        self._trial.build(self.worker, self._reference, self._case)

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
        """A timed call on new arguments, after an untimed one on others.

        Raises:
            Fault: the candidate failed, or changed its inputs.
        """
        before_us = 1e6 * self._warm_up()
        answer = self.call(arguments)
        return answer._replace(call=answer.call._replace(between_us=before_us + answer.call.between_us))

    def call(self, arguments: Sequence[Any]) -> Answer:
        """A call without an untimed one before it; errors as in `timed`."""
        slot = secrets.randbelow(self._slots)
        report, between_s = self._called(slot, arguments)
        outputs = self._trial.read_outputs(self.worker, report, self._case)
        if Guard.MUTATION in self._trial.guards and not self._shared.unchanged(slot, arguments):
            raise Fault(Outcome.MUTATED_INPUT, "a timed call changed its inputs")
        between_s += self._release(report)
        times_s = (report.outside_s, report.seconds, report.late_s, between_s, report.awake_s - report.seconds)
        return Answer(Call(*(1e6 * seconds for seconds in times_s)), outputs)

    def _warm_up(self) -> float:
        """A call that brings threads and caches to work; nobody looks at its outputs. Returns its seconds."""
        report, ready_s = self._called(secrets.randbelow(self._slots), self._case.inputs)
        return ready_s + report.outside_s + report.late_s + self._release(report)

    def _called(self, slot: int, arguments: Sequence[Any]) -> tuple[CallReport, float]:
        """A call, and the seconds that the worker took to get ready for it, before it had the inputs."""
        if Guard.TURNS not in self._trial.guards:
            self._shared.write(slot, arguments)
        self.worker.ask("ready", set=slot)
        ready_s = self.worker.answer_s
        with self.worker.beside():
            if Guard.TURNS in self._trial.guards:
                self._shared.write(slot, arguments)
            report = self._trial.start_call(self.worker, self._layouts)
        self._layouts = report.outputs
        return report, ready_s

    def _release(self, report: CallReport) -> float:
        self._trial.release_outputs(self.worker, report)
        return self.worker.answer_s


class Yardstick(Side):
    """A candidate that only waits. Its clock is right, so it shows how long honest questions and answers take."""

    def wait(self, call: Call) -> Call:
        """A timed call that takes as long as another claims: cores fall asleep during long ones and answer later."""
        self._wait_us(min(call.inside_us, SHORT_US))
        return self.timed(self._case.inputs).call

    def _build(self) -> None:
        self._wait_us(0)
        super()._build()

    def _wait_us(self, wait_us: float) -> None:
        (self.worker.folder / WAIT).write_text(f"{wait_us:.1f}", encoding="ascii")

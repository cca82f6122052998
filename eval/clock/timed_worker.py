"""A candidate or a baseline in a worker of its own, whose calls are timed."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Self, TypeVar

import torch

from eval.clock.timing import CallTime
from eval.oracle.cases import Case, new_seed
from eval.oracle.reference import Reference
from eval.supervisor.language import WAIT
from eval.supervisor.memory import Layout, clear_gaps, specs_of
from eval.supervisor.process import WorkerProcess
from eval.supervisor.rate_limit import RateLimit
from eval.supervisor.settings import Guard
from eval.supervisor.shared_pages import new_memory
from eval.supervisor.trial import CallReport, Trial
from eval.worker.channel import ALL, Message
from eval.worker.fault import Fault
from eval.worker.mapping import end_of, with_guard
from kb.errors import TaskSizeError
from kb.types.evidence import Outcome

SHORT_US = 1000.0
"""Of shorter calls, launching and replying take a considerable part."""
RECORDED_US = 10_000.0
"""Shorter calls on a GPU are recorded and replayed: little is then left to do beside them, in which work could hide."""
INCOMPLETE = (Outcome.RAISED, Outcome.CRASHED, Outcome.TIMED_OUT)
"""So may end what replays calls of which not all is recorded."""
LEAST_S = 1e-9
"""No call counts as shorter, so that a clock which says 0 gives a speed-up."""

T = TypeVar("T")


class Reply(NamedTuple, Generic[T]):
    """What one question gave: a call and its outputs, or several that were timed together and the outputs of each."""

    time: CallTime
    outputs: list[T]


class TimedWorker:
    """Calls one candidate or baseline, whose worker is stopped between calls. Use it as a context manager.

    Candidate and baselines are treated alike: each is stopped while the judge works, and each timed call follows an
    untimed one, which brings its threads and caches back to work.

    Args:
        case: Inputs at the task's sizes, with the expected shapes and types.
        memory: The memory of all timed workers; see `common_memory`. None: each has its own.
    """

    worker: WorkerProcess
    slots: int
    """How many sets of inputs the worker has at once. A call uses one that is drawn at random."""

    def __init__(self, trial: Trial, reference: Reference, case: Case, memory: int | None = None) -> None:
        self._trial, self._reference, self._case, self._memory = trial, reference, case, memory

    def __enter__(self) -> Self:
        """Start the worker, build, and call once. Raises Fault if that fails."""
        self.worker = self._trial.worker(memory=self._memory)
        self.worker.__enter__()
        try:
            self._build()
            sets = _sets(self._trial, self._case)
            self.slots = len(sets)
            start = 0
            if self._memory is not None:
                start = _slots_start(self._trial, sets, self._reference)
                clear_gaps(self._memory, _all_specs(sets, self._reference))
            self._shared = self._trial.share(self.worker, sets, start)
            self._trial.send_inputs(self.worker, self._shared)
            self._layouts: tuple[Layout, ...] = ()
            self._records = self._replays = False
            self.call(self._case.inputs)
        except BaseException:
            self.worker.kill()
            raise
        self.worker.gpu_activity = RateLimit()  # the workers that started at the same time used the GPU too
        return self

    def _build(self) -> None:
        self._trial.build(self.worker, self._reference, self._case)

    def __exit__(self, *_: object) -> None:
        if hasattr(self, "worker"):
            self.worker.kill()

    def interrupt(self) -> None:
        """End the worker while another thread starts it; that thread then gets a Fault."""
        if hasattr(self, "worker"):
            self.worker.interrupt()

    def capture(self, *, on: bool) -> bool:
        """Let the worker record its calls and replay them from now on, or stop that; return whether it replays.

        Each is done once: a baseline replays for all candidates. A worker that fails to record is started anew, because
        the attempt leaves traces. So is one whose replays are wrong or fail: what runs on another stream is not
        recorded.

        Raises:
            Fault: replays are refused for another reason, in a fresh process, too.
        """
        if on is not self._records:
            self._replays = self._captured(on=on)
            self._records = on
        return self._replays

    def _captured(self, *, on: bool, is_again: bool = False) -> bool:
        """Whether it replays; otherwise it is a fresh process. Raises Fault as `capture` does."""
        replays = is_refused = False
        try:
            replays = self.worker.ask("capture", on=on).get("captured") is True
            if not replays or self._computes():
                return replays
        except (Fault, TaskSizeError) as error:
            is_refused = replays and isinstance(error, Fault) and error.outcome not in INCOMPLETE
            if is_refused and is_again:
                raise
        self.worker.kill()
        self.__enter__()
        return is_refused and self._captured(on=on, is_again=True)

    def _computes(self) -> bool:
        """Whether a call computes on new inputs."""
        pairs = zip(self._reference.inputs(new_seed()), self._case.inputs, strict=True)
        inputs = [new if isinstance(new, torch.Tensor) else kept for new, kept in pairs]
        return self._case.near(self.call(inputs).outputs, self._reference.native(inputs))

    def time_call(self, inputs: Sequence[Any]) -> Reply[torch.Tensor]:
        """A timed call on new inputs, after an untimed one on others.

        Raises:
            Fault: the candidate failed, or changed its inputs.
        """
        before_us = 1e6 * self._warm_up()
        reply = self.call(inputs)
        return reply._replace(time=reply.time._replace(between_us=before_us + reply.time.between_us))

    def call(self, inputs: Sequence[Any]) -> Reply[torch.Tensor]:
        """A call without an untimed one before it; errors as in `time_call`."""
        slot = secrets.randbelow(self.slots)
        time, (outputs,) = self._timed(slot, {slot: inputs})
        return Reply(time, outputs)

    def repeat(self) -> float:
        """Microseconds of a call, by the clock in the worker, on inputs that are there; errors as in `call`.

        Neither inputs nor outputs are looked at.
        """
        report, _ = self._run(secrets.randbelow(self.slots), {})
        self._release(report)
        return 1e6 * max(report.seconds, LEAST_S)

    def time_batch(self, sets: Sequence[Sequence[Any]]) -> Reply[list[torch.Tensor]]:
        """One question for a call on each slot, after an untimed call; errors as in `time_call`.

        Args:
            sets: The inputs for each slot.
        """
        self._warm_up()
        return self._timed(ALL, dict(enumerate(sets)))

    def _timed(self, slot: int, inputs: Mapping[int, Sequence[Any]]) -> Reply[list[torch.Tensor]]:
        report, between_s = self._run(slot, inputs)
        each = len(report.outputs) // len(inputs)
        parts = [report.part(number * each, each) for number in range(len(inputs))]
        outputs = [self._trial.read_outputs(self.worker, part, self._case) for part in parts]
        for slot, values in inputs.items():
            if Guard.MUTATION in self._trial.guards and not self._shared.unchanged(slot, values):
                raise Fault(Outcome.MUTATED_INPUT, "a timed call changed its inputs")
            self._shared.write(slot, self._case.inputs)  # the next worker could read new inputs before its turn
        between_s += self._release(report)
        self._check_rest()  # what was written last could start work of a stopped worker
        inside_s = max(report.seconds, LEAST_S)
        times_s = (report.outside_s, inside_s, report.lingering_s, between_s, report.awake_s - inside_s)
        return Reply(CallTime(*(1e6 * seconds for seconds in times_s)), outputs)

    def _warm_up(self) -> float:
        """A call that brings threads and caches to work; nobody looks at its outputs. Returns its seconds."""
        slot = secrets.randbelow(self.slots)
        report, ready_s = self._run(slot, {slot: self._case.inputs})
        return ready_s + report.outside_s + report.lingering_s + self._release(report)

    def _run(self, slot: int, inputs: Mapping[int, Sequence[Any]]) -> tuple[CallReport, float]:
        """Call on a slot, or on all, with the inputs of each.

        Returns:
            What the worker says, and the seconds that it took to get ready, before it had the inputs.
        """
        in_turn = Guard.TURNS in self._trial.guards
        if not in_turn:
            self._write(inputs)
        self.worker.ask("ready", set=slot)
        ready_s = self.worker.reply_s
        with self.worker.tree.avoid_core():
            rest = self._write(inputs, withhold=self._trial.memory.withholds) if in_turn else []
            report = self._trial.start_call(self.worker, self._layouts * len(inputs), last=rest)
            self._check_rest()
        self._layouts = self._layouts or report.outputs
        return report, ready_s

    def _write(self, inputs: Mapping[int, Sequence[Any]], *, withhold: bool = False) -> list[Callable[[], None]]:
        """Write the inputs of each slot; return what writes the parts that are withheld."""
        if withhold:
            return [self._shared.withhold(slot, values) for slot, values in inputs.items()]
        for slot, values in inputs.items():
            self._shared.write(slot, values)
        return []

    def _check_rest(self) -> None:
        if Guard.REST in self._trial.guards:
            self._trial.memory.check_rest(self.worker)

    def _release(self, report: CallReport) -> float:
        self._trial.release_outputs(self.worker, report)
        return self.worker.reply_s


class IdleWorker(TimedWorker):
    """A timed worker that only waits. Its clock is right, so it shows how long honest questions and replies take."""

    def time_wait(self, call: CallTime) -> CallTime:
        """A timed call that takes as long as another claims: cores fall asleep during long ones and reply later."""
        self._set_wait(min(call.inside_us, SHORT_US))
        return self.time_call(self._case.inputs).time

    def _build(self) -> None:
        self._set_wait(0)
        super()._build()

    def _set_wait(self, wait_us: float) -> None:
        (self.worker.folder / WAIT).write_text(f"{wait_us:.1f}", encoding="ascii")


def common_memory(trial: Trial, reference: Reference, case: Case) -> int:
    """Handle of host memory for all timed workers: on another piece of memory calls may take 15 % longer, by luck.

    It holds the parameters, and behind them the slots for inputs, so that workers which start at the same time write
    the same to each byte.
    """
    return new_memory(with_guard(end_of(_all_specs(_sets(trial, case), reference))))


def _sets(trial: Trial, case: Case) -> list[list[Any]]:
    """The inputs for each slot."""
    memory, slot_bytes = trial.memory, max(1, case.input_bytes + case.output_bytes)
    return [case.inputs] * max(1, min(memory.slots, memory.slot_bytes // slot_bytes))


def _all_specs(sets: list[list[Any]], reference: Reference) -> list[Message]:
    """All tensors that lie in the common memory; inputs lie there twice if languages lay them out differently."""
    state, end = specs_of([list(reference.state.values())])
    contiguous, end = specs_of(sets, end)
    strided, _ = specs_of(sets, end, strided=True) if _are_strided(sets[0]) else ([], end)
    return [spec for specs in (*state, *contiguous, *strided) for spec in specs if "offset" in spec]


def _slots_start(trial: Trial, sets: list[list[Any]], reference: Reference) -> int:
    """Where in the common memory the slots of a trial's language begin."""
    _, end = specs_of([list(reference.state.values())])
    return specs_of(sets, end)[1] if trial.language.strided and _are_strided(sets[0]) else end


def _are_strided(inputs: list[Any]) -> bool:
    return any(isinstance(x, torch.Tensor) and not x.is_contiguous() for x in inputs)

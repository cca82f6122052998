"""Try one candidate: build it in a worker, call it, and check its outputs from outside."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import combinations, product, starmap
from typing import Annotated, Any

import torch
from pydantic import Field

from eval.oracle.blocks import same_bits
from eval.oracle.cases import Case
from eval.oracle.reference import Reference, span_of
from eval.supervisor.folder import Artifacts
from eval.supervisor.memory import HostMemory, Layout, RemoteTensor, SharedTensors, share_memory, specs_of
from eval.supervisor.process import WorkerProcess
from eval.supervisor.settings import Guard, Spent, WorkerSettings
from eval.supervisor.warm_pool import WarmPool
from eval.worker.channel import ALL, Message
from eval.worker.fault import Fault
from eval.worker.mapping import is_in_order, spec_of
from eval.worker.zygote import THREADS
from kb.types.base import Frozen
from kb.types.evidence import CaseResult, Outcome
from kb.types.kernels import Candidate

SETTLE_S = 0.05
"""Time during which the outputs of the first case of each size must not change after the call has returned."""
MOST_CALLS = 10
"""All cases together may take as long as so many calls that just end in time."""
MOST_S = 1e6
"""No call takes so many seconds: the judge would have ended it."""
FAULT_CHARACTERS = 500
"""Of what is wrong with a reply."""
TUNED = ".autotune.json"
"""How the files end in which Triton's autotuner keeps its choices."""
POISON = {"MALLOC_PERTURB_": "1"}
"""Makes glibc fill allocated memory with garbage."""


class CallReport(Frozen):
    """What a worker says of a call."""

    seconds: Annotated[float, Field(ge=0, lt=MOST_S)]
    """Time by the clock inside the worker."""
    awake_s: Annotated[float, Field(ge=0, lt=MOST_S)]
    """By the same clock, the time in which the worker also understood the start and wrote its reply."""
    outputs: tuple[RemoteTensor, ...]
    outside_s: float
    """Time from the start to the reply, by the judge's clock."""
    lingering_s: float
    """Time from the reply until the worker stood still, and a GPU worked for the judge again."""

    def part(self, start: int, count: int) -> "CallReport":
        """The same with some of the outputs only, those of one call of several."""
        return self.model_copy(update={"outputs": self.outputs[start : start + count]})


class _Described(Frozen):
    layouts: tuple[Layout, ...]


def sent(argument: Any) -> Any:
    """An argument of `Model(...)` as JSON: see `received` in eval.worker.adapters.python."""
    if isinstance(argument, list | tuple):
        return [sent(part) for part in argument]
    if isinstance(argument, dict):
        return {"dictionary": [[key, sent(value)] for key, value in argument.items()]}
    if is_dataclass(argument):
        return {"fields": {each.name: sent(getattr(argument, each.name)) for each in fields(argument)}}
    return argument


def _placed(layout: Layout, place: str) -> dict[str, Any]:
    handle, _, pointer = place.rpartition(":")
    return {"dtype": layout.dtype, "shape": layout.shape, "stride": layout.stride, "handle": handle, "pointer": pointer}


@dataclass(frozen=True)
class Trial(WorkerSettings):
    """A candidate, and how it is run. Nothing is started until it is needed."""

    candidate: Candidate
    memory: HostMemory = field(default_factory=HostMemory, kw_only=True)
    """How tensors are transferred between judge and worker."""
    threads: int = field(default_factory=torch.get_num_threads, kw_only=True)
    """How many threads OpenMP and torch may use in a worker: as many as torch did here when the trial was made."""
    warm_pool: WarmPool | None = field(default=None, kw_only=True)
    spent: Spent = field(default_factory=Spent, kw_only=True)
    artifacts: Artifacts = field(default_factory=dict, init=False)
    """The files that compilers wrote for its first worker; the others need not compile it again."""

    def worker(self, *, poisoned: bool = False, memory: int | None = None) -> WorkerProcess:
        """A worker.

        Args:
            poisoned: New memory holds garbage, so that no candidate can rely on zeros.
            memory: See `WorkerProcess`. A worker of the warm pool has memory of its own.
        """
        settings = self._settings(poisoned=poisoned)
        worker = self.warm_pool.take(settings) if self.warm_pool else WorkerProcess(settings, memory)
        return worker.give(self.candidate, self.artifacts, self.spent)

    def start_warm_workers(self, *, checks: int, sessions: int) -> None:
        """Let workers start that check this candidate and the next ones, and those that time one in its sessions."""
        if self.warm_pool:
            timed = self._settings(poisoned=False)
            checking_ahead = [self._settings(poisoned=True)] * checks
            first, others = checking_ahead[:1], checking_ahead[1:]
            self.warm_pool.start([*first, *[timed] * sessions, *others])

    def _settings(self, *, poisoned: bool) -> WorkerSettings:
        settings = WorkerSettings(**{each.name: getattr(self, each.name) for each in fields(WorkerSettings)})
        environment = {**(POISON if poisoned else {}), **dict.fromkeys(THREADS, str(self.threads))}
        return replace(settings, environment={**environment, **self.environment})

    def check(self, cases: Sequence[Case], results: list[CaseResult]) -> str:
        """Try the cases in one worker; append a result for each that passed.

        Returns:
            What the candidate printed.

        Raises:
            Fault: the candidate is refused; it names the case.
        """
        built_for: Reference | None = None
        limit_s = MOST_CALLS * self.call_s
        deadline = time.monotonic() + limit_s
        with self.worker(poisoned=True) as worker:
            for number, case in enumerate(cases):
                if time.monotonic() > deadline:
                    raise Fault(Outcome.TIMED_OUT, f"{number} of {len(cases)} cases take more than {limit_s:g} s")
                try:
                    if first := case.reference is not built_for:
                        self.build(worker, case.reference, case)
                        self.spent.compile_s += worker.reply_s
                        built_for = case.reference
                    results.append(self._try(worker, case, settles=first))
                    allocates = self.language.strided and Guard.ALIASING in self.guards
                    if number == 0 and not case.is_large and allocates:
                        self._check_apart(worker, case)
                except Fault as fault:
                    raise Fault(fault.outcome, f"{fault.detail} ({case.name})", number) from fault
            if built_for and Guard.MUTATION in self.guards:
                names = [name for name, _ in built_for.model.named_parameters()]  # a reference may update buffers
                worker.ask("state", state=self._share_state(worker, built_for), names=names)
            worker.finish()
            for name in [name for name in self.artifacts if name.endswith(TUNED)]:
                del self.artifacts[name]  # baselines compiled meanwhile: it has chosen by bad times
            return worker.log

    def build(self, worker: WorkerProcess, reference: Reference, case: Case | None = None) -> None:
        """Build the candidate with the reference's arguments and parameters, for outputs as in a case."""
        layouts = case.layouts if case else ()
        worker.ask(
            "build",
            adapter=str(self.language.adapter),
            **self.language.build_options(),
            arguments=[sent(argument) for argument in reference.arguments],
            keywords={name: sent(argument) for name, argument in reference.keywords.items()},
            init=[*map(float, reference.numbers)],
            state=self._share_state(worker, reference),
            outputs=[spec_of(layout) for layout in layouts],
            in_order=[is_in_order(layout) for layout in layouts],
        )

    def _share_state(self, worker: WorkerProcess, reference: Reference) -> list[Message]:
        """Put parameters and buffers into the memory that the worker maps."""
        shared = self.memory.share(worker, [list(reference.state.values())])
        return [{**spec, "name": name} for name, spec in zip(reference.state, shared.specs[0], strict=True)]

    def share(self, worker: WorkerProcess, sets: Sequence[Sequence[Any]], start: int = 0) -> SharedTensors:
        """Put sets of inputs into the memory that the worker maps, laid out as its language promises."""
        return self.memory.share(worker, sets, start, strided=self.language.strided)

    def send_inputs(self, worker: WorkerProcess, shared: SharedTensors) -> None:
        if self.language.tensors_alone and any("value" in spec for spec in shared.specs[0]):
            only = f"forward takes more than tensors, but a {self.language.name} candidate accepts only tensors"
            raise Fault(Outcome.INCOMPATIBLE_PARAMETERS, only)
        worker.ask("inputs", sets=shared.specs)

    def call(self, worker: WorkerProcess, number: int) -> CallReport:
        """Let the worker call the candidate on one of the input sets."""
        worker.ask("ready", set=number)
        return self.start_call(worker)

    def start_call(
        self, worker: WorkerProcess, layouts: Sequence[Layout] = (), *, last: Sequence[Callable[[], None]] = ()
    ) -> CallReport:
        """Start the call for which the worker has got ready.

        Args:
            last: What is done right before the start.
            layouts: Those of the outputs of an earlier call on such inputs. Without them the worker is asked, and thus
                runs before the outputs are read.
        """
        self.memory.before_call(last)
        reply = worker.start_call(then=self.memory.after_call)
        if Guard.AT_ONCE not in self.guards:
            worker.let_run(4 * SETTLE_S)
        times = {name: reply.get(name) for name in ("seconds", "awake_s")}
        times |= {"outside_s": worker.reply_s, "lingering_s": worker.lingering_s}
        try:
            layouts = layouts or _Described.model_validate(worker.ask("layouts")).layouts
            outputs = [_placed(layout, place) for layout, place in zip(layouts, reply["places"], strict=True)]
            return CallReport.model_validate({"outputs": outputs, **times})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Fault(Outcome.FORGED, f"not a valid answer to `call`: {str(error)[:FAULT_CHARACTERS]}") from error

    def read_outputs(self, worker: WorkerProcess, report: CallReport, case: Case) -> list[torch.Tensor]:
        """The outputs of a call, as they are in the worker's memory now.

        Raises:
            Fault: number, type or shape differ from the reference's, or an output overlaps an input or another output.
        """
        if len(report.outputs) != len(case.expected):
            raise Fault(Outcome.BAD_OUTPUT, f"{len(report.outputs)} outputs; the reference gives {len(case.expected)}")
        try:
            pairs = zip(report.outputs, case.layouts, strict=True)
            values = [self._read_output(worker, output, native) for output, native in pairs]
            if (
                case.apart
                and Guard.ALIASING in self.guards
                and any(starmap(share_memory, combinations(report.outputs, 2)))
            ):
                raise Fault(Outcome.BAD_OUTPUT, "two outputs share memory: give each its own")
            return values
        except ValueError as error:
            raise Fault(Outcome.BAD_OUTPUT, str(error)) from error
        except ProcessLookupError:
            raise Fault(Outcome.CRASHED, "its process died after it had answered") from None

    def release_outputs(self, worker: WorkerProcess, report: CallReport) -> None:
        """Overwrite the outputs of a call, so that old results are lost, and let the worker free them."""
        if Guard.OVERWRITING in self.guards:
            try:
                for output in report.outputs:
                    self.memory.overwrite(worker, output)
            except (ValueError, ProcessLookupError) as error:
                raise Fault(Outcome.BAD_OUTPUT, f"an output cannot be overwritten: {error}") from error
        worker.ask("forget")

    def _read_output(self, worker: WorkerProcess, output: RemoteTensor, native: torch.Tensor) -> torch.Tensor:
        expected, shape = str(native.dtype).removeprefix("torch."), tuple(native.shape)
        if (output.dtype, output.shape) != (expected, shape):
            found = f"{output.dtype[:80]}{list(output.shape)}"
            raise Fault(Outcome.BAD_OUTPUT, f"an output is {found}; the reference gives {expected}{list(shape)}")
        lies_in_inputs = self.memory.lies_in_inputs(worker, output)  # a baseline's calls are followed by as much
        if lies_in_inputs and Guard.ALIASING in self.guards:
            raise Fault(Outcome.ALIASED_INPUT, "an output overlaps the memory of an input; return a new tensor")
        if Guard.ALIASING in self.guards and output.span < min(span_of(native), native.numel()):
            raise Fault(Outcome.BAD_OUTPUT, f"elements of an output {list(shape)} share memory: write each of them")
        value = self.memory.read(worker, output)
        if Guard.ALIASING in self.guards and is_in_order(native) and not is_in_order(value):
            raise Fault(
                Outcome.BAD_OUTPUT, f"elements of an output {list(shape)} lie in another order than the reference's"
            )
        return value

    def _check_apart(self, worker: WorkerProcess, case: Case) -> None:
        """Raises Fault if two calls give the same memory, so that the second changes what the first has returned."""
        self.send_inputs(worker, self.share(worker, [case.inputs] * 2))
        report = self.call(worker, ALL)
        half = len(case.expected)
        first, second = report.part(0, half), report.part(half, len(report.outputs))
        for part in (first, second):
            self.read_outputs(worker, part, case)  # it raises if what is reported is not valid
        if any(starmap(share_memory, product(first.outputs, second.outputs))):
            raise Fault(Outcome.STALE_OUTPUT, "a later call writes to the memory of an output that is still in use")
        self.release_outputs(worker, report)

    def _try(self, worker: WorkerProcess, case: Case, *, settles: bool) -> CaseResult:
        """The result of a case. Raises Fault if the candidate is refused.

        Args:
            settles: Whether the outputs are read a second time, later. Others that are still unwritten are just wrong.
        """
        guarded = Guard.GAPS in self.guards
        end = specs_of([case.inputs], strided=self.language.strided)[1]
        shared = self.share(worker, [case.inputs], -end % self.memory.page_bytes if guarded else 0)
        if guarded:
            self.memory.spoil_gaps(worker, shared)
        self.send_inputs(worker, shared)
        report = self.call(worker, 0)
        if settles and not worker.is_compiled:
            self.spent.compile_s += report.outside_s
        outputs = self.read_outputs(worker, report, case)
        if settles and Guard.AT_ONCE in self.guards:
            worker.let_run(SETTLE_S)
            later = self.read_outputs(worker, report, case)
            if not all(same_bits(a, b) for a, b in zip(outputs, later, strict=True)):
                raise Fault(Outcome.LATE_OUTPUT, "an output was still changing after the call had returned")
        if Guard.MUTATION in self.guards and not shared.unchanged(0, case.inputs):
            raise Fault(Outcome.MUTATED_INPUT, "the call changed its inputs")
        self.release_outputs(worker, report)
        result = case.compare(outputs)
        if Guard.COMPARISON in self.guards and result.outcome is not Outcome.PASSED:
            raise Fault(Outcome.INCORRECT, result.detail)
        return result.model_copy(update={"outcome": Outcome.PASSED})

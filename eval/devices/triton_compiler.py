"""Triton without the chip: candidates run in its interpreter, and their kernels are compiled and screened."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING

from eval.devices.device import CaseSizes, Device, Judgement
from eval.fault import Fault
from eval.screen.screen import excess, screen_kernel
from eval.supervisor.language import JudgedLanguage
from kb.types.evidence import CaseResult, Grade, KernelScreen, Outcome
from kb.types.kernels import Candidate

if TYPE_CHECKING:
    from eval.devices.triton_trial import PlannedCall
    from eval.oracle.cases import Case
    from eval.supervisor.trial import Trial

ELEMENTS = 1 << 16
"""Small, because the interpreter is thousands of times slower than a chip."""
UNTRIED = "its values at the task's own sizes are untried: the reference takes too long there"


class TritonCompiler(Device):
    """The candidate's host code plans the launches without the inputs' values; its kernels are then run without it."""

    backends = ("cuda", "hip")
    languages = ("triton",)
    sizes = CaseSizes(large=ELEMENTS, small=1 << 14, given=ELEMENTS)

    def judge(
        self, candidate: Candidate, language: JudgedLanguage, cases: Sequence[Case], results: list[CaseResult]
    ) -> Judgement:
        from eval.devices.triton_own_size import try_own_size
        from eval.devices.triton_source import kernels_of
        from eval.devices.triton_trial import KernelTrial, planned
        from eval.supervisor.trial import Trial

        bench = self.bench
        settings = (language, bench.level, bench.call_s, bench.guards)
        whole = any(case.reference is bench.reference for case in cases)
        own_case = None if whole else self._own_case
        *calls, own = planned(Trial(candidate, *settings), bench.isa, cases, bench.reference, own_case)
        _check_kernels(own, calls)
        plans = [call.plan for call in (*calls, own)]
        names = {name for plan in plans for name in plan.names}
        texts = {name: text for plan in plans for name, text in plan.texts.items()}
        kernels = candidate.model_copy(update={"source": kernels_of(candidate.source, names, texts)})
        tried = KernelTrial(
            kernels,
            *settings,
            environment={"TRITON_INTERPRET": "1"},
            calls=tuple(calls),
            isa=bench.isa,
        )
        with ThreadPoolExecutor(1) as beside:  # nothing is timed here
            compiling = beside.submit(self._compiled, Trial(kernels, *settings), own)
            log = tried.check(cases, results)
            if own_case:
                results += try_own_size(tried, own, own_case)
        screens = compiling.result()
        if over := excess(screens):
            return Judgement(Outcome.OVER_LIMIT, detail=over, screen=tuple(screens), log=log)
        remarks = self.attainable() if whole or own_case else (UNTRIED, *self.attainable())
        return Judgement(grade=Grade.COMPILED, detail="; ".join(remarks), screen=tuple(screens), log=log)

    @cached_property
    def _own_case(self) -> Case | None:
        from eval.devices.triton_own_size import own_case

        return own_case(self.bench.reference, self.bench.interface)

    def _compiled(self, trial: Trial, call: PlannedCall) -> list[KernelScreen]:
        """Screens of the kernels that a call launches, compiled for the target."""
        from eval.devices.triton_trial import input_bytes

        bench = self.bench
        with trial.worker() as worker:
            answer = worker.ask(
                "compile",
                adapter=str(trial.language.adapter),
                isa=asdict(bench.isa),
                plan=call.plan.model_dump(),
                inputs=input_bytes(call.inputs),
            )
            if not isinstance(records := answer.get("kernels"), list):
                raise Fault(Outcome.FORGED, "the answer is not a list of compiled kernels")
            return [screen_kernel(record, worker.folder, bench.isa, bench.facts) for record in records]


def _check_kernels(own: PlannedCall, calls: Sequence[PlannedCall]) -> None:
    """Raises Fault if no case launches the kernels that are compiled, which are those at the task's own sizes."""
    if not all(call.plan.launches for call in (*calls, own)):
        raise Fault(Outcome.NO_KERNEL, "forward launched no Triton kernel")
    if all(call.plan.kernels != own.plan.kernels for call in calls):
        names = ", ".join(sorted(own.plan.kernels))
        raise Fault(
            Outcome.UNTRIED,
            f"forward launches {names} at the task's own sizes, but other kernels at the smaller sizes of the cases, "
            "so the results of these could not be checked; launch the same kernels at every size",
        )

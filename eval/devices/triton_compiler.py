"""Triton without the chip: candidates run in its interpreter, and their kernels are compiled and screened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from eval.devices.device import CaseSizes, Device, Judgement
from eval.fault import Fault
from eval.screen.screen import screen_kernel
from eval.worker.language import JudgedLanguage
from kb.model.evidence import CaseResult, Grade, KernelScreen, Outcome
from kb.model.kernels import Candidate

if TYPE_CHECKING:
    from eval.cases import Case
    from eval.worker.trial import Trial

ELEMENTS = 1 << 16
"""Small, because the interpreter is thousands of times slower than a chip."""


class TritonCompiler(Device):
    backends = ("cuda", "hip")
    languages = ("triton",)
    sizes = CaseSizes(odd=ELEMENTS, even=1 << 14, given=ELEMENTS)

    def judge(
        self, candidate: Candidate, language: JudgedLanguage, cases: Sequence[Case], results: list[CaseResult]
    ) -> Judgement:
        from eval.worker.trial import Trial

        bench = self.bench
        settings = (candidate, language, bench.level, bench.call_s, bench.guards)
        log = Trial(*settings, environment={"TRITON_INTERPRET": "1"}).check(cases, results)
        kernels = self._compiled(Trial(*settings))
        if not kernels:
            raise Fault(Outcome.NO_KERNEL, "forward launched no Triton kernel")
        over = [f.message for k in kernels for f in k.findings if f.state == "over"]
        if over:
            return Judgement(Outcome.OVER_LIMIT, detail="; ".join(over), screen=tuple(kernels), log=log)
        return Judgement(grade=Grade.COMPILED, detail="; ".join(self.attainable()), screen=tuple(kernels), log=log)

    def _compiled(self, trial: Trial) -> list[KernelScreen]:
        """Screens of the candidate's kernels, compiled for the target at the task's own sizes."""
        bench = self.bench
        with trial.worker() as worker:
            answer = worker.ask(
                "compile",
                adapter=str(trial.language.adapter),
                isa=asdict(bench.isa),
                arguments=bench.reference.arguments,
                state=[spec.model_dump() for spec in bench.interface.state],
                inputs=[spec.model_dump() for spec in bench.interface.inputs],
            )
            if not isinstance(records := answer.get("kernels"), list):
                raise Fault(Outcome.FORGED, "the answer is not a list of compiled kernels")
            return [screen_kernel(record, worker.folder, bench.isa, bench.facts) for record in records]

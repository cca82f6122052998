"""Triton without the chip: candidates run in its interpreter, and their kernels are compiled and screened.

A screen finds mistakes, not cheats: nothing can be won with it. It says what it did not check.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from eval.devices.device import CaseSizes, Device, Verdict
from eval.screen.screen import Record, excess, screen_kernel
from eval.supervisor.language import JudgedLanguage
from eval.worker.fault import Fault
from kb.types.evidence import CaseResult, Grade, KernelScreen, Outcome
from kb.types.kernels import Candidate

if TYPE_CHECKING:
    from eval.oracle.cases import Case
    from eval.supervisor.trial import Trial

ELEMENTS = 1 << 16
"""Small, because the interpreter is thousands of times slower than a chip."""


class Compiled(NamedTuple):
    """What a candidate launches, compiled for the target."""

    screens: tuple[KernelScreen, ...]
    launched: tuple[str, ...]
    notes: tuple[str, ...]
    """What was not compiled."""


class TritonCompiler(Device):
    """Runs a candidate in the interpreter at small sizes, and compiles what it launches at the task's own."""

    backends = ("cuda", "hip")
    languages = ("triton",)
    sizes = CaseSizes(large=ELEMENTS, small=1 << 14, given=ELEMENTS)

    def judge(
        self, candidate: Candidate, language: JudgedLanguage, cases: Sequence[Case], results: list[CaseResult]
    ) -> Verdict:
        from eval.devices.triton_trial import InterpretedTrial
        from eval.supervisor.trial import Trial

        setup = self.setup
        settings: dict[str, Any] = {
            "language": language.model_copy(update={"isa": setup.isa}),
            "level": setup.level,
            "call_s": setup.call_s,
            "guards": setup.guards,
        }
        interpreted = InterpretedTrial(candidate, **settings, environment={"TRITON_INTERPRET": "1"})
        log, unchecked = "", []
        with ThreadPoolExecutor(1) as beside:  # nothing is timed here
            compiling = beside.submit(self._compiled, Trial(candidate, **settings), cases)
            try:
                log = interpreted.check(cases, results)
            except Fault as fault:
                if fault.outcome != Outcome.UNSUPPORTED:
                    raise
                results.clear()
                unchecked = [f"not checked in the interpreter: {fault.detail}"]
            with setup.spent.on("compile_s"):
                compiled = compiling.result()
        if not compiled.launched:
            raise Fault(Outcome.NO_KERNEL, "forward launched no Triton kernel")
        if over := excess(compiled.screens):
            return Verdict(Outcome.OVER_LIMIT, detail=over, screen=compiled.screens, log=log)
        if not unchecked:
            others = ", ".join(sorted({*compiled.launched} - interpreted.launched))
            unchecked = [f"not checked in the interpreter: {others}, not launched in any case"] if others else []
            if not any(case.reference is setup.reference for case in cases):
                unchecked.append("its values at the task's own sizes are untried")
        notes = (*unchecked, *compiled.notes, *self.attainable())
        return Verdict(grade=Grade.COMPILED, detail="; ".join(notes), screen=compiled.screens, log=log)

    def _compiled(self, trial: Trial, cases: Sequence[Case]) -> Compiled:
        """What a call launches at the task's own sizes, or if it stops for lack of values, in the largest case."""
        from eval.devices.triton_trial import compile_case, compile_own

        setup, notes = self.setup, list[str]()
        with trial.worker() as worker:
            try:
                found = compile_own(trial, worker, setup.task, setup.reference)
            except Fault as fault:
                raise Fault(fault.outcome, f"{fault.detail} (at the task's own sizes)") from fault
            if found.stopped:
                own = [case for case in cases if case.reference is setup.reference]
                if not own:
                    notes.append(f"compiled for the sizes of the cases, not the task's own: {found.stopped}")
                found = compile_case(trial, worker, max(own or cases, key=lambda case: case.input_bytes))
            if found.stopped:
                notes.append(f"compiled up to where forward needs what a kernel computes: {found.stopped}")
            screens = [screen_kernel(record, worker.folder, setup.isa, setup.facts) for record in found.kernels]
        kept = _that_fit(found.kernels, screens)
        if skipped := len(screens) - len(kept):
            notes.append(f"autotuning skips what needs more than the target has: {skipped} of the configurations")
        notes += [f"not compiled: {count} more configurations of {kernel}" for kernel, count in found.left_out.items()]
        return Compiled(kept, found.launched, tuple(notes))


def _that_fit(records: Sequence[Record], screens: Sequence[KernelScreen]) -> tuple[KernelScreen, ...]:
    """All screens but those of an autotuned kernel that needs too much in this configuration and fits in another."""
    tuned = [record.kernel if record.configuration else "" for record in records]
    fitting = {kernel for kernel, screen in zip(tuned, screens, strict=True) if kernel and not excess([screen])}
    return tuple(s for kernel, s in zip(tuned, screens, strict=True) if kernel not in fitting or not excess([s]))

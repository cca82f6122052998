"""A chip that is not here, as its own compiler or simulator knows it: see kb.types.toolchain.Toolchain."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eval.devices.device import CaseSizes, Device, Setup, Verdict
from eval.languages.toolchain import PROGRAM, ToolchainLanguage, check_needs
from eval.screen.screen import VENDORS, excess, screen_file
from eval.supervisor.language import JudgedLanguage
from eval.worker.fault import Fault
from kb.errors import JudgeError
from kb.facts.select import one_value
from kb.types.evidence import CaseResult, KernelScreen, Outcome
from kb.types.kernels import Candidate

if TYPE_CHECKING:
    from eval.oracle.cases import Case
    from eval.supervisor.trial import Trial

CYCLES = "the simulator counted {:,} cycles for the longest call"
BUILT_ONLY = "nothing ran: whether its results are correct is not known"


class ToolchainDevice(Device):
    """Builds candidates for the chip, and runs them if the toolchain has a simulator. It claims no speed.

    Raises:
        JudgeError: this machine lacks what the toolchain needs, or compilers do not know the target.
    """

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        if setup.toolchain is None:
            raise ValueError("no toolchain is given")
        self._toolchain = setup.toolchain.toolchain
        check_needs(self._toolchain)
        if self._toolchain.screen and setup.isa.backend not in VENDORS:
            hint = "name one of its chips: `kb targets list`"
            raise JudgeError(f"compilers have no name for {setup.target}", hint=hint)
        self.runs = bool(self._toolchain.run)
        elements = self._toolchain.limits.elements
        self.languages = (setup.toolchain.name,)
        self.sizes = CaseSizes(large=elements, small=elements, given=elements, numbers=False)

    def judge(
        self, candidate: Candidate, language: JudgedLanguage, cases: Sequence[Case], results: list[CaseResult]
    ) -> Verdict:
        log = ""
        screens: tuple[KernelScreen, ...] = ()
        for variant in self._toolchain.variants:
            trial = self.trial(candidate, language.model_copy(update={"variant": variant}))
            try:
                if self.runs:
                    log = trial.check(cases, results)
                else:
                    with trial.worker() as worker:
                        log, program = worker.log, worker.folder / PROGRAM
                        if self._toolchain.screen:
                            screens = screen_file(program, self.setup.isa, self.setup.facts)
            except Fault as fault:
                raise self._explained(fault, variant) from fault
            if over := excess(screens):
                return Verdict(Outcome.OVER_LIMIT, detail=over, screen=screens, log=log)
        cycles = self._toolchain.longest(log)
        counted = [CYCLES.format(cycles)] if cycles is not None else []
        detail = "; ".join((*counted, *self.attainable()) if self.runs else (BUILT_ONLY,))
        return Verdict(grade=self._toolchain.grade, detail=detail, screen=screens, cycles=cycles, log=log)

    def trial(self, candidate: Candidate, language: JudgedLanguage, **settings: Any) -> Trial:
        if not isinstance(language, ToolchainLanguage):
            raise TypeError(language.name)
        own: dict[str, Any] = {"call_s": self._toolchain.limits.seconds, "environment": language.environment()}
        return super().trial(candidate, language, **{**own, **settings})

    def _explained(self, fault: Fault, variant: Mapping[str, str]) -> Fault:
        """Name the outcome that the toolchain gives to this message, and add the variant and the cited limit."""
        detail = " ".join((fault.detail.rstrip(), *(f"({name}={value})" for name, value in variant.items())))
        rule = next((rule for rule in self._toolchain.messages if re.search(rule.pattern, fault.detail)), None)
        if rule is None or fault.outcome in (Outcome.INCORRECT, Outcome.FORBIDDEN, Outcome.FORGED):
            return Fault(fault.outcome, detail, fault.case)
        limit = one_value(self.setup.facts, *rule.quantity.split(", ")) if rule.quantity else None
        if limit is None:
            return Fault(rule.outcome, detail)
        stated = limit[1]
        cited = f"{stated.quantity} = {stated.value} {stated.unit} [kb cite {stated.citation.id}]"
        return Fault(rule.outcome, f"{detail}\nThe documents state: {cited}")

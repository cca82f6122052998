"""A chip that is not here, as its own compiler or simulator knows it: see kb.model.toolchain.Toolchain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from eval.devices.device import Bench, CaseSizes, Device, Judgement
from eval.fault import Fault
from eval.languages.toolchain import ToolchainLanguage, check_needs
from eval.worker.language import JudgedLanguage
from kb.facts.select import one_value
from kb.model.evidence import CaseResult, Outcome
from kb.model.kernels import Candidate

if TYPE_CHECKING:
    from eval.cases import Case
    from eval.worker.trial import Trial

BUILT_ONLY = "nothing ran: whether its results are correct is not known"


class ToolchainDevice(Device):
    """Builds candidates for the chip, and runs them if the toolchain has a simulator. It claims no speed.

    Raises:
        JudgeError: this machine lacks what the toolchain needs.
    """

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        if bench.toolchain is None:
            raise ValueError("no toolchain is given")
        self._toolchain = bench.toolchain.toolchain
        check_needs(self._toolchain)
        elements = self._toolchain.limits.elements
        self.languages = (bench.toolchain.name,)
        self.sizes = CaseSizes(odd=elements, even=elements, given=elements)

    def judge(
        self, candidate: Candidate, language: JudgedLanguage, cases: Sequence[Case], results: list[CaseResult]
    ) -> Judgement:
        log = ""
        for variant in self._toolchain.variants:
            trial = self.trial(candidate, language.model_copy(update={"variant": variant}))
            try:
                log = self._built(trial) if not self._toolchain.run else trial.check(cases, results)
            except Fault as fault:
                raise self._explained(fault, variant) from fault
        detail = "; ".join(self.attainable()) if self._toolchain.run else BUILT_ONLY
        return Judgement(grade=self._toolchain.grade, detail=detail, log=log)

    def trial(self, candidate: Candidate, language: JudgedLanguage) -> Trial:
        from eval.worker.trial import Trial

        if not isinstance(language, ToolchainLanguage):
            raise TypeError(language.name)
        bench, limits = self.bench, self._toolchain.limits
        return Trial(candidate, language, bench.level, limits.seconds, bench.guards, environment=language.environment())

    @staticmethod
    def _built(trial: Trial) -> str:
        with trial.worker() as worker:
            return worker.log

    def _explained(self, fault: Fault, variant: Mapping[str, str]) -> Fault:
        """The fault with the meaning that the toolchain gives to the message, the variant, and the cited limit."""
        detail = " ".join((fault.detail, *(f"({name}={value})" for name, value in variant.items())))
        rule = self._toolchain.rule_for(fault.detail)
        if rule is None or fault.outcome in (Outcome.INCORRECT, Outcome.FORBIDDEN, Outcome.FORGED):
            return Fault(fault.outcome, detail)
        limit = one_value(self.bench.facts, rule.quantity) if rule.quantity else None
        cited = f"\n{limit[1].quantity}: {limit[0]:,.0f} [kb cite {limit[1].citation.id}]" if limit else ""
        return Fault(rule.outcome, f"{detail}{cited}")

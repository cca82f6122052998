"""This machine's CPU: candidates run natively and are timed against the fastest torch baseline."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from eval.clock.baseline_settings import settings
from eval.devices.device import CaseSizes, Device, Judgement
from eval.languages.registry import TORCH
from eval.supervisor.language import JudgedLanguage
from eval.supervisor.launch import load_early
from kb.types.evidence import WIN_SESSIONS, CaseResult
from kb.types.kernels import Candidate
from kb.types.target import Isa

if TYPE_CHECKING:
    from eval.clock.baselines import Baselines
    from eval.oracle.cases import Case


class Cpu(Device):
    backends = ("cpu",)
    languages = ("cpp", "torch")
    sizes = CaseSizes(large=1 << 22, small=1 << 14, given=None)

    @cached_property
    def baselines(self) -> Baselines:
        from eval.clock.baselines import Baselines
        from eval.supervisor.trial import Trial

        bench = self.bench
        trial_of = partial(Trial, language=TORCH, level=bench.level, call_s=bench.call_s, **settings())
        return Baselines(bench.task, bench.reference, self.sources(), trial_of, kept=WIN_SESSIONS)

    def sources(self) -> Mapping[str, str]:
        """What makes candidates of the reference, by the name of the baseline."""
        from eval.clock.baselines import SOURCES

        return SOURCES

    @classmethod
    def prepare(cls) -> None:
        shared = settings()
        load_early(TORCH, shared["preload"], shared["environment"])

    def start(self) -> None:
        _ = self.baselines

    @classmethod
    def serves(cls, isa: Isa) -> bool:
        return super().serves(isa) and isa.architecture == platform.machine().replace("AMD64", "x86_64")

    def judge(
        self, candidate: Candidate, language: JudgedLanguage, cases: Sequence[Case], results: list[CaseResult]
    ) -> Judgement:
        from eval.clock.sessions import measure

        trial = self.trial(candidate, language)
        log = trial.check(cases, results)
        timing, busy = measure(trial, self.baselines, cases)
        return self.measured(timing, (busy, *self.baselines.notes), log)

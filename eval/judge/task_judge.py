"""Judge candidates for one task and target.

The judge runs the task's reference; the candidate runs only in a worker.
"""

import platform
import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from eval.devices.device import Device, Setup, Verdict
from eval.devices.registry import device_for
from eval.devices.toolchain import ToolchainDevice
from eval.judge.counterexamples import Counterexamples
from eval.judge.held_out_cases import HeldOutCases
from eval.languages.registry import LANGUAGES
from eval.languages.toolchain import ToolchainLanguage
from eval.machine import machine_kind, present_gpus, sandbox_level
from eval.oracle.cases import given_case
from eval.oracle.constants import at_workload
from eval.oracle.reference import Reference, interface_of
from eval.oracle.sizes import count_elements
from eval.supervisor.language import JudgedLanguage
from eval.supervisor.settings import ALL_GUARDS, Guard
from eval.worker.fault import Fault
from kb.errors import JudgeError
from kb.types.evidence import CaseResult, Estimate, Evidence, Outcome, Took
from kb.types.fact import Fact
from kb.types.kernels import Candidate, Interface, Task, Workload, workload_name
from kb.types.target import Isa


class TaskJudge:
    """Judges candidates for one task and target.

    Args:
        facts: Facts about the target, the only source of limits.
        device: Device to use instead of the one that serves `isa`.
        toolchain: The only language, judged by its own compiler or simulator instead of a device for `isa`.
        languages: The known languages; the device judges some of them.
        counterexamples: File with the seeds of cases that refused candidates for this task and target.

    Raises:
        TaskError: the reference fails.
        JudgeError: no device serves the target.
    """

    def __init__(
        self,
        task: Task,
        target: str,
        isa: Isa,
        facts: Sequence[Fact],
        *,
        call_s: float,
        guards: frozenset[Guard] = ALL_GUARDS,
        device: type[Device] | None = None,
        toolchain: ToolchainLanguage | None = None,
        languages: Iterable[JudgedLanguage] = LANGUAGES,
        counterexamples: Path | None = None,
    ) -> None:
        self.task = task
        self.languages = {language.name: language for language in ([toolchain] if toolchain else languages)}
        kind = device or (ToolchainDevice if toolchain else device_for(isa, target))
        kind.prepare()
        self.interface = interface_of(task, device=kind.tensors)
        kind.check_room(self.interface)
        reference = Reference(task, seed=secrets.randbits(62), device=kind.tensors)
        own = task.workloads[0] if task.workloads else {}
        self.setup = Setup(
            task, reference, self.interface, target, isa, facts, sandbox_level(), call_s, guards, toolchain, own
        )
        self._counterexamples = Counterexamples(counterexamples)
        self.device = kind(self.setup)

    def verify(self, candidate: Candidate) -> Evidence:
        """Raises JudgeError if the device does not judge the candidate's language, or cannot do so on this machine."""
        results: list[CaseResult] = []
        language = self._language_of(candidate)
        start, spent = time.monotonic(), self.setup.spent
        spent.compile_s = spent.baselines_s = spent.turns_s = 0.0
        self.device.start()
        cases = self._cases.for_candidate() if self.device.runs else []
        try:
            verdict = self.device.judge(candidate, language, cases, results)
            if verdict.surprising:
                cases = self._cases.for_second_check()
                self.device.trial(candidate, language).check(cases, results)
            if self.task.workloads and self.device.runs and verdict.outcome is Outcome.PASSED:
                verdict = self._at_other_workloads(verdict, candidate, language, results)
            if self.device.runs and self._cases.limit:
                verdict = replace(verdict, detail="\n".join(filter(None, [verdict.detail, self._cases.limit])))
        except Fault as fault:
            if fault.outcome == Outcome.INCORRECT and fault.case is not None:
                self._cases.add_counterexample(cases[fault.case])
            verdict = Verdict(Outcome(fault.outcome), detail=fault.detail)
        return Evidence(
            task=self.task.name,
            task_digest=self.task.digest,
            candidate_digest=candidate.digest,
            language=candidate.language,
            target=self.setup.target,
            sizes=self.interface.sizes,
            precision=self.task.precision,
            cases=tuple(results),
            took=Took(**vars(spent), judge_s=time.monotonic() - start - sum(vars(spent).values())),
            sandbox_level=self.setup.level,
            environment=_environment(self.device) | language.versions(),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            **vars(verdict),
        )

    def estimate(self, candidate: Candidate) -> Estimate:
        """A quick timing, in a worker like those of `verify`; raises JudgeError as it does, or if nothing is timed."""
        language = self._language_of(candidate)
        try:
            return Estimate(time_us=self.device.quick_time_us(candidate, language))
        except Fault as fault:
            return Estimate(detail=f"{fault.outcome}: {fault.detail}")

    def close(self) -> None:
        """End what it has started."""
        self.device.close()

    def _at_other_workloads(
        self, verdict: Verdict, candidate: Candidate, language: JudgedLanguage, results: list[CaseResult]
    ) -> Verdict:
        """The verdict on all workloads, from that on the first. They use the memory of the device in turn.

        Raises:
            Fault: the candidate is refused; the message names the workload.
        """
        timed, untried = [], int(not self._runs(self.interface))
        self.device.close()
        try:
            for workload in self.task.workloads[1:]:
                found = self._at(workload, candidate, language, results)
                if found and found.outcome is not Outcome.PASSED:
                    return replace(found, detail=_at_named(found.detail, workload))
                timed += [found.timing] if found and found.timing else []
                untried += not found
        finally:
            self.device = type(self.device)(self.setup)
        note = f"{untried} of {len(self.task.workloads)} workloads are too large to be tried here" if untried else ""
        detail = "; ".join(filter(None, [verdict.detail, note]))
        timing = verdict.timing and verdict.timing.model_copy(update={"other_workloads": tuple(timed)})
        return replace(verdict, timing=timing, detail=detail)

    def _at(
        self, workload: Workload, candidate: Candidate, language: JudgedLanguage, results: list[CaseResult]
    ) -> Verdict | None:
        """The verdict at one workload; None if its tensors are too large for the device to run."""
        task, kind = at_workload(self.task, workload), type(self.device)
        interface = interface_of(task, device=kind.tensors)
        if not self._runs(interface):
            return None
        kind.check_room(interface)
        reference = Reference(task, seed=secrets.randbits(62), device=kind.tensors)
        device = kind(replace(self.setup, task=task, reference=reference, interface=interface, workload=workload))
        try:
            device.start()
            cases = [device.timed_case or given_case("sizes as given", reference)]
            if not cases[0].is_large:
                cases += self._cases.mixed(reference)
            verdict = device.judge(candidate, language, cases, results)
            if verdict.surprising:
                device.trial(candidate, language).check([cases[0], *self._cases.mixed(reference)], results)
            return verdict
        except Fault as fault:
            raise Fault(fault.outcome, _at_named(fault.detail, workload)) from fault
        finally:
            device.close()

    def _runs(self, interface: Interface) -> bool:
        """Whether the device runs candidates on tensors as large as these."""
        limit = self.device.sizes.given
        return limit is None or count_elements(interface) <= limit

    def _language_of(self, candidate: Candidate) -> JudgedLanguage:
        if candidate.language not in self.device.languages:
            raise JudgeError(
                f"a {candidate.language} candidate cannot be judged for {self.setup.target}",
                hint=f"write it in {' or '.join(self.device.languages)}",
            )
        return self.languages[candidate.language]

    @cached_property
    def _cases(self) -> HeldOutCases:
        return HeldOutCases(
            self.task, self.setup.reference, self.interface, self.device.sizes, self._counterexamples,
            self.device.timed_case,
        )  # fmt: skip


def _at_named(detail: str, workload: Workload) -> str:
    return f"{detail} (at the workload {workload_name(workload)})"


def _environment(device: Device) -> dict[str, str]:
    import torch

    gpu = next(iter(present_gpus().values()), None) if device.tensors == "cuda" else None
    return ({"gpu": gpu.kind} if gpu else {}) | {
        "machine": machine_kind(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "threads": str(torch.get_num_threads()),
    }

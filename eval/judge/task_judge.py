"""Run the judge's process, which eval.judge.driver starts: `python -P -m eval.judge.task_judge READ_FD WRITE_FD`.

It runs the task's reference; the candidate runs only in a worker. One process serves one task and target, so that
references, expected outputs and baselines are computed once.
"""

import ctypes
import os
import platform
import secrets
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from eval.devices.device import Bench, Device, Judgement
from eval.devices.registry import device_for
from eval.devices.toolchain import ToolchainDevice
from eval.fault import Fault
from eval.judge.hidden_cases import HiddenCases
from eval.judge.refused_draws import RefusedDraws
from eval.languages.registry import LANGUAGES
from eval.languages.toolchain import ToolchainLanguage
from eval.machine import processor, sandbox_level
from eval.reference import Reference, interface_of
from eval.worker.channel import Channel, Message
from eval.worker.language import JudgedLanguage
from eval.worker.process import ALL_GUARDS, Guard
from eval.worker.sandbox import PR_SET_PDEATHSIG
from kb.errors import JudgeError, KbError
from kb.model.evidence import CaseResult, Evidence, Outcome
from kb.model.fact import Fact
from kb.model.kernels import Candidate, Task
from kb.model.target import Isa


class TaskJudge:
    """Judges candidates for one task and target.

    Args:
        facts: Facts about the target, the only source of limits.
        device: Device to use instead of the one that serves `isa`.
        toolchain: The only language, judged by its own compiler or simulator instead of a device for `isa`.
        languages: The known languages; the device judges some of them.
        profile: Whether each candidate that passes is profiled, if the device has a profiler.
        refused: File with the draws that refused candidates for this task and target.

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
        profile: bool = False,
        refused: Path | None = None,
    ) -> None:
        self.task = task
        self.languages = {language.name: language for language in ([toolchain] if toolchain else languages)}
        kind = device or (ToolchainDevice if toolchain else device_for(isa, target))
        kind.prepare()
        reference = Reference(task, seed=secrets.randbits(62), device=kind.tensors)
        self.interface = interface_of(task, reference)
        self.bench = Bench(
            task, reference, self.interface, target, isa, facts, sandbox_level(), call_s, guards, toolchain, profile
        )
        self._refused = RefusedDraws(refused)
        self.device = kind(self.bench)

    def verify(self, candidate: Candidate) -> Evidence:
        """Raises JudgeError if the device does not judge the candidate's language, or cannot do so on this machine."""
        results: list[CaseResult] = []
        language = self._language_of(candidate)
        self.device.start()
        cases = self._cases.for_candidate() if self.device.runs else []
        try:
            found = self.device.judge(candidate, language, cases, results)
            if found.surprising:
                cases = self._cases.once_more()
                self.device.trial(candidate, language).check(cases, results)
        except Fault as fault:
            if fault.outcome == Outcome.INCORRECT and fault.case is not None:
                self._cases.refused(cases[fault.case])
            found = Judgement(Outcome(fault.outcome), detail=fault.detail)
        return Evidence(
            task=self.task.name,
            task_digest=self.task.digest,
            candidate_digest=candidate.digest,
            language=candidate.language,
            target=self.bench.target,
            sizes=self.interface.sizes,
            cases=tuple(results),
            sandbox_level=self.bench.level,
            environment=_environment() | language.versions(),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            **vars(found),
        )

    def _language_of(self, candidate: Candidate) -> JudgedLanguage:
        if candidate.language not in self.device.languages:
            raise JudgeError(
                f"a {candidate.language} candidate cannot be judged for {self.bench.target}",
                hint=f"write it in {' or '.join(self.device.languages)}",
            )
        return self.languages[candidate.language]

    @cached_property
    def _cases(self) -> HiddenCases:
        return HiddenCases(self.task, self.bench.reference, self.interface, self.device.sizes, self._refused)


def _environment() -> dict[str, str]:
    import torch

    return {
        "machine": f"{processor()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "threads": str(torch.get_num_threads()),
    }


def _judge_of(question: Mapping[str, Any]) -> TaskJudge:
    return TaskJudge(
        Task.model_validate(question["task"]),
        question["target"],
        Isa.parse(question["isa"]),
        [Fact.model_validate(f) for f in question["facts"]],
        call_s=question["call_s"],
        toolchain=ToolchainLanguage.model_validate(given) if (given := question["toolchain"]) else None,
        profile=question["profile"],
        refused=Path(question["refused"]),
    )


def main() -> None:
    """Answer the driver until it closes the channel."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # unwinds the stack, which ends the worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the driver too, which ends this process
    channel = Channel(int(sys.argv[1]), int(sys.argv[2]))
    with ExitStack() as at_end:
        _answer_questions(channel, at_end)


def _answer_questions(channel: Channel, at_end: ExitStack) -> None:
    judge: TaskJudge | None = None
    while True:
        try:
            question = channel.receive()
        except EOFError:
            return
        try:
            if judge is None:
                judge = _judge_of(question)
                at_end.callback(judge.device.close)
                answer: Message = {"interface": judge.interface.model_dump(mode="json")}
            else:
                answer = {"evidence": judge.verify(Candidate.model_validate(question)).model_dump(mode="json")}
        except KbError as error:
            answer = {"error": type(error).__name__, "message": error.message, "hint": error.hint}
        channel.send(answer)


if __name__ == "__main__":
    main()

"""The judge's process: `python -P -m eval.judge.task_judge READ_FD WRITE_FD`, started by eval.judge.driver.

It runs the task's reference and never the candidate, which runs in a worker. One process serves one task and target;
references, expected outputs and baselines are made once.
"""

import ctypes
import importlib.metadata
import os
import platform
import secrets
import shutil
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from eval.cases import VALUES, Case, cases, count_elements, given_case, smaller_sizes
from eval.devices.cpu_timing import Baselines, measure
from eval.machine import compilers, processor, sandbox_level
from eval.reference import Reference, interface_of
from eval.roofline import implausible, task_roofline
from eval.screen.screen import screen_kernel
from eval.worker.channel import Channel, Message
from eval.worker.fault import Fault
from eval.worker.process import ALL_GUARDS, Guard
from eval.worker.sandbox import PR_SET_PDEATHSIG
from eval.worker.trial import Trial
from kb.errors import FactError, JudgeError, KbError, TaskError
from kb.model.evidence import CaseResult, Evidence, Grade, KernelScreen, Outcome, Timing
from kb.model.fact import Fact
from kb.model.kernels import Candidate, Language, Task
from kb.model.target import Isa

MEASURED_ELEMENTS = (1 << 22, 1 << 14)
"""Most elements of all tensors in the smaller cases of a candidate that runs natively."""
INTERPRETED_ELEMENTS = (1 << 16, 1 << 14)
"""The same for one that runs in Triton's interpreter, thousands of times slower."""


class TaskJudge:
    """Judges candidates for one task and target.

    Args:
        isa: See kb.model.target.Target.isa.
        facts: Of the target; the limits come from these alone.

    Raises:
        TaskError: the reference fails.
    """

    def __init__(
        self,
        task: Task,
        target: str,
        isa: Isa,
        facts: list[Fact],
        *,
        call_s: float,
        guards: frozenset[Guard] = ALL_GUARDS,
    ) -> None:
        self.task, self.target, self.isa, self.facts = task, target, isa, facts
        self.call_s, self.guards = call_s, guards
        self.level = sandbox_level()
        self.reference = Reference(task, seed=secrets.randbits(62))
        self.interface = interface_of(task, self.reference)

    def verify(self, candidate: Candidate) -> Evidence:
        """Raises JudgeError when the candidate's language does not fit the target, or this machine cannot judge it."""
        found: dict[str, Any] = {}
        results: list[CaseResult] = []
        try:
            found = self._measured(candidate, results) if self.isa.is_cpu else self._screened(candidate, results)
        except Fault as fault:
            found = {"outcome": Outcome(fault.outcome), "detail": fault.detail}
        return Evidence(
            task=self.task.name,
            task_digest=self.task.digest,
            candidate_digest=candidate.digest,
            language=candidate.language,
            target=self.target,
            cases=tuple(results),
            sandbox_level=self.level,
            environment=self._environment(candidate.language),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            **found,
        )

    def _measured(self, candidate: Candidate, results: list[CaseResult]) -> dict[str, Any]:
        trial = Trial(candidate, self.level, self._compiler(candidate.language), self.call_s, self.guards)
        log = trial.check(self._cases, results)
        timing: Timing = measure(trial, self._baselines)
        if why := implausible(timing.candidate_us / 1e6, self.interface, self.facts):
            raise Fault(Outcome.TOO_FAST, why)
        return {"outcome": Outcome.PASSED, "grade": Grade.MEASURED, "timing": timing, "log": log,
                "detail": "; ".join((*self._baselines.notes, *self._attainable()))}  # fmt: skip

    def _screened(self, candidate: Candidate, results: list[CaseResult]) -> dict[str, Any]:
        if candidate.language is not Language.TRITON:
            raise JudgeError(
                f"a {candidate.language} candidate cannot be screened for {self.target}", hint="write it in Triton"
            )
        interpreted = Trial(
            candidate, self.level, call_s=self.call_s, guards=self.guards, environment={"TRITON_INTERPRET": "1"}
        )
        log = interpreted.check(self._cases, results)
        kernels = self._compiled(Trial(candidate, self.level, call_s=self.call_s, guards=self.guards))
        if not kernels:
            raise Fault(Outcome.NO_KERNEL, "forward launched no Triton kernel")
        over = [f.message for k in kernels for f in k.findings if f.state == "over"]
        found: dict[str, Any] = {"screen": tuple(kernels), "log": log}
        if over:
            return {**found, "outcome": Outcome.OVER_LIMIT, "detail": "; ".join(over)}
        detail = "; ".join(self._attainable())
        return {**found, "outcome": Outcome.PASSED, "grade": Grade.COMPILED, "detail": detail}

    def _attainable(self) -> list[str]:
        """The roofline of the task in words; nothing where the target's rates are not known."""
        try:
            bound = task_roofline(self.interface, self.facts).ceilings[0]
        except FactError:
            return []
        return [f"at best {bound} [kb cite {bound.fact.citation.id}]"]

    def _compiled(self, trial: Trial) -> list[KernelScreen]:
        """The candidate's kernels as compiled for the target at the task's own sizes."""
        inputs = self.interface.inputs
        with trial.worker() as worker:
            answer = worker.ask(
                "cross_compile",
                isa=asdict(self.isa),
                arguments=self.reference.arguments,
                state=[spec.model_dump() for spec in self.interface.state],
                inputs=[spec.model_dump() for spec in inputs],
            )
            if not isinstance(records := answer.get("kernels"), list):
                raise Fault(Outcome.FORGED, "no list of compiled kernels came")
            return [screen_kernel(record, worker.folder, self.isa, self.facts) for record in records]

    @cached_property
    def _cases(self) -> list[Case]:
        native = self.isa.is_cpu
        limits = MEASURED_ELEMENTS if native else INTERPRETED_ELEMENTS
        chosen = [smaller_sizes(self.task, elements=n, odd=odd) for n, odd in zip(limits, (True, False), strict=True)]
        found = [
            case
            for sizes in chosen
            if sizes
            for case in cases(Reference(self.task, seed=secrets.randbits(62), sizes=sizes), sizes=sizes)
        ]
        if native or count_elements(self.interface) <= INTERPRETED_ELEMENTS[0]:
            # All kinds of values where there are no sizes to change; else one, which nobody knows beforehand.
            kinds = list(VALUES) if not found else [secrets.choice([kind for kind in VALUES if kind != "given"])]
            found += [*cases(self.reference, sizes={}, kinds=kinds), given_case("sizes as given", self.reference)]
        if not found:
            raise TaskError(
                f"task {self.task.name} is too large to interpret and has no sizes to make smaller",
                hint="assign its sizes to names at the top of the file, as `ROWS = 4096`",
            )
        return found

    @cached_property
    def _baselines(self) -> Baselines:
        return Baselines(self.reference)

    def _compiler(self, language: Language) -> str:
        architecture = self.isa.architecture
        if architecture != platform.machine().replace("AMD64", "x86_64"):
            raise JudgeError(
                f"{self.target} kernels are timed on a {architecture} machine; this is {platform.machine()}",
                hint="run kb there",
            )
        if language is Language.TRITON:
            raise JudgeError("Triton kernels do not run on CPUs", hint=f"for {self.target} write cpp or torch")
        if language is not Language.CPP:
            return ""
        compiler = shutil.which("c++") or shutil.which("clang++")
        if compiler is None:
            raise JudgeError("there is no C++ compiler on the path", hint="install g++ or clang++")
        return compiler

    def _environment(self, language: Language) -> dict[str, str]:
        import torch

        found = {
            "machine": f"{processor()}, {os.cpu_count()} cores",
            "system": f"{platform.system()} {platform.release()}",
            "python": platform.python_version(),
            "torch": torch.__version__,
            "threads": str(torch.get_num_threads()),
        }
        if language is Language.TRITON:
            found["triton"] = importlib.metadata.version("triton")
        if language is Language.CPP:
            found["compiler"] = compilers().get("c++", "")
        return found


def _judge_of(question: Mapping[str, Any]) -> TaskJudge:
    return TaskJudge(
        Task.model_validate(question["task"]),
        question["target"],
        Isa.parse(question["isa"]),
        [Fact.model_validate(f) for f in question["facts"]],
        call_s=question["call_s"],
        guards=frozenset(Guard(g) for g in question["guards"]),
    )


def main() -> None:
    """Answer the driver until it is gone."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # by way of the worker's end
    channel = Channel(int(sys.argv[1]), int(sys.argv[2]))
    judge: TaskJudge | None = None
    while True:
        try:
            question = channel.receive()
        except EOFError:
            return
        try:
            if judge is None:
                judge = _judge_of(question)
                answer: Message = {"interface": judge.interface.model_dump(mode="json")}
            else:
                answer = {"evidence": judge.verify(Candidate.model_validate(question)).model_dump(mode="json")}
        except KbError as error:
            answer = {"error": type(error).__name__, "message": error.message, "hint": error.hint}
        channel.send(answer)


if __name__ == "__main__":
    main()

"""Batches of candidates that a fake judge judges, in this process or in one of its own that is killed."""

import os
import platform
import time
from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Any, ClassVar, Self

from eval.batch import here
from eval.batch import judge as batch_judge
from eval.batch.here import job_of
from eval.batch.pack import VERDICTS, Batch, BatchVerdict, Entry, TargetFacts, code_digest, sealed
from eval.machine import Gpu, machine_kind
from eval.pool import cards
from eval.pool.steps import Found, next_step, with_result
from kb.errors import CanaryError, JudgeError, TaskError
from kb.types.evidence import Estimate, Evidence, Outcome
from kb.types.kernels import Candidate, Task
from kb.types.protocols import Proposal
from kb.types.target import Isa
from tests.runs.fakes import INTERFACE, TASK, evidence_of, note, speedup_of

HERE = Isa("cpu", platform.machine())
H100 = Isa("cuda", "90")
FAST, SLOW = "NVIDIA H100, 700 W", "NVIDIA H100, 350 W"
GPUS = {name: Gpu(str(number), H100, FAST) for number, name in enumerate(("one", "two"))}
MIXED = GPUS | {"three": Gpu("2", H100, SLOW)}
ISAS = {"cpu-x86": HERE, "h100": Isa("cuda", "90", 32), "mi300x": Isa("hip", "gfx942", 64)}


TUNABLE = """\
constexpr int UNROLL = 1;  // tune: 1, 2, 4, 8
constexpr int BLOCK = 64;  // tune: 32, 64, 128, 256
"""


def text_of(one: Candidate) -> str:
    values = (f"{name}={value}" for name, value in one.values.items())
    return " ".join((one.source.splitlines()[0].partition("// ")[2], *values)).strip()


def kernel(text: str = "", more: str = "") -> Candidate:
    return Candidate(language="cpp", source=f'#include "kb_tensor.h" // {text}\n{more}')


def entry(text: str, *, target: str = "cpu-x86", task: Task = TASK, run: str = "run") -> Entry:
    return Entry(run=run, task=task, target=target, proposal=Proposal(candidate=kernel(text)))


def tuned(text: str, **more: Any) -> Entry:
    """The entry of a kernel that is to be tuned; at least 16 settings, of which BEST is the fastest."""
    proposal = Proposal(candidate=kernel(text, TUNABLE))
    return entry(text, **more).model_copy(update={"proposal": proposal, "finalists": 2})


def batch_of(*entries: Entry) -> Batch:
    targets = {name: TargetFacts(isa=isa, facts=()) for name, isa in ISAS.items()}
    return Batch(
        id="20261128-081500-0a1b2c3d",
        key="secret",
        judge=code_digest(),
        targets=targets,
        entries=dict(enumerate(entries, 1)),
    )


def evidence_on(one: Entry) -> Evidence:
    """The machine was busy for what contains `busy`, and for settings of what contains `hectic`; what is named below is
    refused."""
    refusals = {
        "wrong": Outcome.INCORRECT,
        "crashed": Outcome.CRASHED,
        "raised": Outcome.RAISED,
        "fast": Outcome.TOO_FAST,
    }
    outcome = refusals.get(text_of(one.proposal.candidate).partition(" ")[0], Outcome.PASSED)
    is_setting = one.proposal.candidate.values not in ({}, {"UNROLL": 1, "BLOCK": 64})
    about = {"task": one.task.name, "task_digest": one.task.digest, "target": one.target}
    about |= {"environment": {"machine": machine_kind()}}
    gain = None if one.proposal.candidate.parameters else 1.5
    seen = evidence_of(one.proposal.candidate, outcome=outcome, speedup=gain).model_copy(update=about)
    is_busy = "busy" in one.proposal.candidate.source or (is_setting and "hectic" in one.proposal.candidate.source)
    if not is_busy or seen.timing is None:
        return seen
    sessions = tuple(session.model_copy(update={"others": 0.5}) for session in seen.timing.sessions)
    return seen.model_copy(update={"timing": seen.timing.model_copy(update={"sessions": sessions})})


def verdict_on(batch: Batch, number: int) -> BatchVerdict:
    seen = evidence_on(batch.entries[number])
    return BatchVerdict(batch=batch.id, number=number, judge=batch.judge, interface=INTERFACE, evidence=seen)


def found_by(batch: Batch, number: int, steps: int) -> BatchVerdict:
    """What is found of a candidate after so many steps."""
    one, found, log = batch.entries[number], Found(number=number), Path(os.devnull)
    judge = FakeJudge(one.task, target=one.target, environment={}, log=log)
    for _ in range(steps):
        if step := next_step(job_of(batch, number), found):
            found = with_result(found, step.taken(judge), INTERFACE)
    return BatchVerdict(batch=batch.id, judge=batch.judge, **vars(found))


def write_verdict(folder: Path, batch: Batch, verdict: BatchVerdict, *, key: str = "", number: int = 0) -> Path:
    """Write a verdict as the judge does, or signed with another key or under another number."""
    file = folder / VERDICTS / str(number or verdict.number)
    file.write_text(sealed(verdict, key or batch.key))
    return file


class FakeJudge:
    """Notes what it judges. It dies of candidates that contain `kills`, and refuses tasks that contain `fails`.

    A setting with UNROLL=8 of what contains `breaks` kills it when that is timed, and one of `refuses` is refused.
    A canary fails where the judges of a card have passed as many as `broken` says, and beside what contains `disturbs`.
    """

    interface = INTERFACE
    log: Path
    pause_s = 0.0
    cores: ClassVar[dict[str, set[int]]] = {}
    """On which it ran, by device."""
    environments: ClassVar[list[Mapping[str, str]]] = []
    broken: ClassVar[dict[str, float]] = {}
    """By device."""

    def __init__(
        self, task: Task, *, target: str, environment: Mapping[str, str], log: Path | None = None, **_: object
    ) -> None:
        self.log = log or self.log
        self.task, self.target, self.where = task, target, environment.get("CUDA_VISIBLE_DEVICES", "cpu")
        note(self.log, f"{self.where} {task.name}")
        self.cores[self.where] = os.sched_getaffinity(0)
        self.environments.append(environment)
        self.is_timed = False
        if "fails" in task.source:
            raise TaskError("the reference fails", hint="")

    def verify(self, candidate: Candidate) -> Evidence:
        time.sleep(self.pause_s)
        note(self.log, f"{self.where} {text_of(candidate)}")
        if "kills" in candidate.source:
            raise JudgeError("the judge died (exit status -9)", hint="")
        found = evidence_on(Entry(run="", task=self.task, target=self.target, proposal=Proposal(candidate=candidate)))
        if found.timing is None:
            return found
        if not self.is_timed:
            good = self.broken.get(self.where, inf)
            self.broken[self.where] = good - 1
            if good <= 0 or "disturbs" in candidate.source:
                raise CanaryError("the clock stands still", hint="")
        self.is_timed = True
        gpu = cards.present_gpus().get(self.where)
        return found.model_copy(update={"environment": found.environment | ({"gpu": gpu.kind} if gpu else {})})

    def estimate(self, candidate: Candidate) -> Estimate:
        time.sleep(self.pause_s)
        note(self.log, f"{self.where} quick {text_of(candidate)}")
        is_last = candidate.values["UNROLL"] == 8
        if is_last and "breaks" in candidate.source:
            raise JudgeError("the judge died (exit status -9)", hint="")
        return Estimate(time_us=None if is_last and "refuses" in candidate.source else 100 / speedup_of(candidate))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


def judge_in_this_process(folder: Path, log: Path, pause_s: float) -> None:
    """Judge a batch with the fake judge, on two GPUs that are not there and the CPU."""
    FakeJudge.log, FakeJudge.pause_s = log, pause_s
    here.LocalJudge = FakeJudge  # type: ignore[misc,assignment]
    cards.present_gpus = lambda: GPUS  # type: ignore[assignment]
    batch_judge.judge_batch(folder, lambda line: None)

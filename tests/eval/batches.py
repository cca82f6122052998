"""Batches of candidates that a fake judge judges, in this process or in one of its own that is killed."""

import os
import platform
import time
from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import ClassVar, Self

from eval.batch import here
from eval.batch import judge as batch_judge
from eval.batch.pack import VERDICTS, Batch, BatchVerdict, Entry, TargetFacts, code_digest, sealed
from eval.machine import Gpu, machine_kind
from eval.pool import cards
from kb.errors import CanaryError, JudgeError, TaskError
from kb.types.evidence import Evidence, Outcome
from kb.types.kernels import Candidate, Task
from kb.types.protocols import Proposal
from kb.types.target import Isa
from tests.runs.fakes import INTERFACE, TASK, evidence_of, note

HERE = Isa("cpu", platform.machine())
H100 = Isa("cuda", "90")
FAST, SLOW = "NVIDIA H100, 700 W", "NVIDIA H100, 350 W"
GPUS = {name: Gpu(str(number), H100, FAST) for number, name in enumerate(("one", "two"))}
MIXED = GPUS | {"three": Gpu("2", H100, SLOW)}
ISAS = {"cpu-x86": HERE, "h100": Isa("cuda", "90", 32), "mi300x": Isa("hip", "gfx942", 64)}


def text_of(one: Candidate) -> str:
    return one.source.partition("// ")[2].strip()


def kernel(text: str = "") -> Candidate:
    return Candidate(language="cpp", source=f'#include "kb_tensor.h" // {text}\n')


def entry(text: str, *, target: str = "cpu-x86", task: Task = TASK, run: str = "run") -> Entry:
    return Entry(run=run, task=task, target=target, proposal=Proposal(candidate=kernel(text)))


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
    """The machine was busy for what contains `busy`; what is named below is refused."""
    refusals = {
        "wrong": Outcome.INCORRECT,
        "crashed": Outcome.CRASHED,
        "raised": Outcome.RAISED,
        "fast": Outcome.TOO_FAST,
    }
    outcome = refusals.get(text_of(one.proposal.candidate), Outcome.PASSED)
    about = {"task": one.task.name, "task_digest": one.task.digest, "target": one.target}
    about |= {"environment": {"machine": machine_kind()}}
    seen = evidence_of(one.proposal.candidate, outcome=outcome, speedup=1.5).model_copy(update=about)
    if "busy" not in one.proposal.candidate.source or seen.timing is None:
        return seen
    sessions = tuple(session.model_copy(update={"others": 0.5}) for session in seen.timing.sessions)
    return seen.model_copy(update={"timing": seen.timing.model_copy(update={"sessions": sessions})})


def verdict_on(batch: Batch, number: int) -> BatchVerdict:
    seen = evidence_on(batch.entries[number])
    return BatchVerdict(batch=batch.id, number=number, judge=batch.judge, interface=INTERFACE, evidence=seen)


def write_verdict(folder: Path, batch: Batch, verdict: BatchVerdict, *, key: str = "", number: int = 0) -> Path:
    """Write a verdict as the judge does, or signed with another key or under another number."""
    file = folder / VERDICTS / str(number or verdict.number)
    file.write_text(sealed(verdict, key or batch.key))
    return file


class FakeJudge:
    """Notes what it judges. It dies of candidates that contain `kills`, and refuses tasks that contain `fails`.

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

    def __init__(self, task: Task, *, target: str, environment: Mapping[str, str], **_: object) -> None:
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


def judge_in_this_process(folder: Path, log: Path, pause_s: float) -> None:
    """Judge a batch with the fake judge, on two GPUs that are not there and the CPU."""
    FakeJudge.log, FakeJudge.pause_s = log, pause_s
    here.LocalJudge = FakeJudge  # type: ignore[misc,assignment]
    cards.present_gpus = lambda: GPUS  # type: ignore[assignment]
    batch_judge.judge_batch(folder, lambda line: None)

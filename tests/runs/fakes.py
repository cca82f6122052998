"""A fake judge and a fake author with deterministic answers, which log every call."""

import os
import time
from datetime import date
from pathlib import Path

from eval.languages.registry import CPP
from eval.pool.cards import Card
from kb.runs.journal import Plan, Run, Runs, SynthesizerKind
from kb.runs.loop import Loop, OnAttempt, ignore
from kb.skillbook.library import Skillbook
from kb.types.briefing import Briefing
from kb.types.evidence import CaseResult, Estimate, Evidence, Grade, Outcome
from kb.types.kernels import Candidate, Interface, Task, TensorSpec
from kb.types.skill import Skill
from kb.types.target import Isa
from kb.types.terms import Terms
from kb.types.timing import Session, Timing
from synth.authors.asking import Desk, Notes, Seat
from synth.authors.author import Ask, Author, Reply, Usage
from synth.authors.spending import Budget, Model
from synth.authors.synthesizer import Synthesizer

TASK = Task(name="row-sum", source='"""Sums the rows of a matrix."""\nclass Model: ...\n')
TASK_WITH_SUM = Task(name="row-sum", source="class Model:\n    def forward(self, x):\n        return x.sum(-1)\n")
"""Its operation is of a known kind, so that rules are learnt for it."""
INTERFACE = Interface(
    inputs=(TensorSpec(name="x", shape=(64, 32), dtype="float32"),),
    state=(),
    outputs=(TensorSpec(name="output0", shape=(64,), dtype="float32"),),
    init=(),
)
TEMPLATE = """\
#include "kb_tensor.h"
constexpr int UNROLL = 1;  // tune: 1, 2, 4, 8
constexpr int BLOCK = 64;  // tune: 32, 64, 128, 256
extern "C" void model_new(const Tensor *in, const Tensor *state, const double *init, Tensor *out) {} // row sum
"""
BEST = {"UNROLL": 4, "BLOCK": 128}


def candidate(**values: int) -> Candidate:
    return Candidate(language="cpp", source=TEMPLATE).with_parameters(values)


def template(source: str = TEMPLATE, name: str = "row-sum-template") -> Skill:
    return Skill(
        name=name,
        description="Row sum of a matrix",
        body="# A guess\n",
        target="any",
        language="cpp",
        candidate=Candidate(language="cpp", source=source),
        suffix=".cpp",
    )


def speedup_of(one: Candidate) -> float:
    """Speed-up that is largest at BEST and falls with each step away from it."""
    return 3.0 - 0.4 * sum(p.choices.index(p.value) != p.choices.index(BEST[p.name]) for p in one.parameters)


def evidence_of(
    one: Candidate, *, outcome: Outcome = Outcome.PASSED, speedup: float | None = None, baseline_us: float = 100.0
) -> Evidence:
    passed = outcome is Outcome.PASSED
    gain = speedup_of(one) if speedup is None else speedup
    session = Session(
        baseline_us=(baseline_us,) * 3, candidate_us=(baseline_us / gain,) * 3, inside_us=(baseline_us / gain,) * 3,
        speedup=gain, low=gain * 0.99, high=gain * 1.01,
    )  # fmt: skip
    return Evidence(
        task=TASK.name,
        task_digest=TASK.digest,
        candidate_digest=one.digest,
        language=one.language,
        target="cpu-x86",
        outcome=outcome,
        detail="" if passed else "largest error 3",
        grade=Grade.MEASURED if passed else None,
        cases=(CaseResult(name="all", outcome=Outcome.PASSED),) if passed else (),
        timing=Timing(baseline="eager", baselines_us={"eager": 100.0}, sessions=(session,) * 3) if passed else None,
        sandbox_level=2,
        environment={"machine": "a machine"},
        created="2026-11-21T00:00:00+00:00",
    )


class FakeJudge:
    """Refuses sources that contain `wrong`. Each verdict takes `pause_s`, each quick timing `estimate_s`."""

    interface = INTERFACE

    def __init__(self, log: Path, pause_s: float = 0.0, *, estimate_s: float = 0.0, task: Task = TASK) -> None:
        self.log, self.pause_s, self.estimate_s, self.task = log, pause_s, estimate_s, task
        self.busy_s = 0.0

    def _work(self, seconds: float) -> None:
        start = time.monotonic()
        time.sleep(seconds)
        self.busy_s += time.monotonic() - start

    def verify(self, one: Candidate) -> Evidence:
        self._work(self.pause_s)
        note(self.log, one.digest)
        found = evidence_of(one, outcome=Outcome.INCORRECT if "wrong" in one.source else Outcome.PASSED)
        return found.model_copy(update={"task": self.task.name, "task_digest": self.task.digest})

    def estimate(self, one: Candidate) -> Estimate:
        self._work(self.estimate_s)
        return Estimate(time_us=100.0 / speedup_of(one))


def cards(number: int) -> list[Card]:
    """GPUs of one kind that are not there."""
    return [Card(f"gpu{one}", Isa("cuda", "90"), "a GPU") for one in range(number)]


class PaidAuthor:
    """Writes one point after another, at 100 tokens each; every third reply has no kernel at first."""

    secrets = ()

    def __init__(self, log: Path, pause_s: float = 0.0, *, name: str = "paid", unreadable: bool = False) -> None:
        self.log, self.pause_s, self.name, self.unreadable = log, pause_s, name, unreadable

    def answer(self, ask: Ask) -> Reply:
        time.sleep(self.pause_s)
        note(self.log, f"{self.name} {ask.number}")
        step, usage = ask.number - 1, Usage(output_tokens=100)
        if self.unreadable and len(ask.said) == 1 and step % 3 == 2:
            return Reply(text="I would rather not say.", usage=usage)
        values = {"UNROLL": (1, 2, 4, 8)[step % 4], "BLOCK": (32, 64, 128, 256)[step // 4 % 4]}
        return Reply(text=f"note: try {step}\n\n```cpp\n{candidate(**values).source}```\n", usage=usage)


def asking(*authors: Author) -> Synthesizer:
    """Asks authors for free."""
    return Synthesizer(Desk([Seat(author, Model(), free=True) for author in authors], Notes(), Budget()), CPP)


def note(log: Path, line: str) -> None:
    """Append a line in one write, so that a kill cannot split it."""
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, f"{line}\n".encode())
    os.close(handle)


def book_of(home: Path, shipped: Path) -> Skillbook:
    """The library on the day of the judge's evidence."""
    return Skillbook(home, shipped=shipped, today=lambda: date(2026, 11, 21))


def start(
    home: Path, *, evaluations: int = 6, kind: SynthesizerKind = SynthesizerKind.TUNE, control: bool = False
) -> Run:
    plan = Plan(task=TASK, target="cpu-x86", language="cpp", synthesizer=kind, evaluations=evaluations, control=control)
    return Runs(home).start(plan)


def loop_of(run: Run, home: Path, shipped: Path, on_attempt: OnAttempt = ignore) -> Loop:
    return Loop(
        run=run,
        language=CPP,
        skillbook=book_of(home, shipped),
        scope=frozenset({"cpu-x86", "any"}),
        siblings=frozenset({"cpu-arm"}),
        brief=lambda interface, attempts, stage, skills: (Briefing(), Terms()),
        prompt_tokens=6000,
        on_attempt=on_attempt,
    )

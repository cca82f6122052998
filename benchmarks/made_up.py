"""Made-up skills, runs and campaigns of any size, written as kb writes them, for benchmarks of their growth."""

import json
from collections.abc import Iterator
from pathlib import Path

from kb.campaign.file import Arm, Budget, Campaign, GroupedTask
from kb.runs.entries import JournalEntry
from kb.runs.journal import JOURNAL, Plan, Run, Runs, SynthesizerKind
from kb.skillbook.files import skill_files
from kb.skillbook.library import JUDGED
from kb.types.campaign import Part
from kb.types.evidence import CaseResult, Estimate, Evidence, Grade, Outcome
from kb.types.kernels import Candidate, Interface, Task, TensorSpec
from kb.types.protocols import Proposal, Stage, Tried
from kb.types.skill import Preconditions, Skill, SkillKind
from kb.types.timing import Session, Timing
from synth.authors.asking import Exchange
from synth.authors.author import Ask, Reply, Usage
from synth.search.moves import Ask as Move

TARGET, LANGUAGE, ROUNDS, CAMPAIGN = "cpu-x86", "cpp", 20, "made-up"
WORDS = ("softmax", "layernorm", "matmul", "gelu", "cumsum", "rmsnorm", "attention", "conv", "argmax", "histogram")
TENSORS = [TensorSpec(name=name, shape=(64, 32), dtype="float32") for name in ("x", "output0")]
INTERFACE = Interface(inputs=(TENSORS[0],), state=(), outputs=(TENSORS[1],), init=())
SOURCE = """\
#include "kb_tensor.h"
// structure {structure}
constexpr int UNROLL = 1;  // tune: 1, 2, 4, 8
constexpr int BLOCK = 64;  // tune: 32, 64, 128, 256
extern "C" void model_new(const Tensor *in, const Tensor *state, const double *init, Tensor *out) {{
    const float *x = in[0].data; float *y = out[0].data;
    for (long i = 0; i < in[0].numel; i += UNROLL)
        for (int j = 0; j < UNROLL; ++j) y[i + j] = x[i + j] > 0 ? x[i + j] : 0;
}}
"""
POINTS = [{"UNROLL": unroll, "BLOCK": block} for unroll in (1, 2, 4, 8) for block in (32, 64, 128, 256)]
OWN = POINTS[1]


def task_of(number: int) -> Task:
    word = WORDS[number % len(WORDS)]
    forward = f"    def forward(self, x):\n        return torch.{word}(x)\n"
    return Task(name=f"{word}-{number}", source=f'"""Task {number}: {word}."""\nclass Model:\n{forward}')


def kernel(structure: int, values: dict[str, int]) -> Candidate:
    return Candidate(language=LANGUAGE, source=SOURCE.format(structure=structure)).with_parameters(values)


def evidence(candidate: Candidate, task: Task, time_us: float, *, passed: bool = True) -> Evidence:
    times = (time_us,) * ROUNDS
    session = Session(
        baseline_us=(150.0,) * ROUNDS, candidate_us=times, inside_us=times, speedup=150 / time_us,
        low=149 / time_us, high=151 / time_us,
    )  # fmt: skip
    return Evidence(
        task=task.name, task_digest=task.digest, candidate_digest=candidate.digest, language=LANGUAGE, target=TARGET,
        outcome=Outcome.PASSED if passed else Outcome.INCORRECT, grade=Grade.MEASURED if passed else None,
        cases=tuple(CaseResult(name=f"case {n}", outcome=Outcome.PASSED, error_ratio=0.1) for n in range(6 * passed)),
        timing=Timing(baseline="eager", baselines_us={"eager": 150.0}, sessions=(session,) * 3) if passed else None,
        sandbox_level=2, environment={"machine": "made up"}, created="2026-11-01T00:00:00+00:00",
    )  # fmt: skip


# A library


def skill(number: int) -> Skill:
    """Four of five are kernels that won here; the fifth is a technique that waits for nobody."""
    task, candidate = task_of(number), kernel(number, OWN)
    is_kernel = number % 5 > 0
    return Skill(
        name=f"{task.name}-{TARGET}", kind=SkillKind.KERNEL if is_kernel else SkillKind.TECHNIQUE,
        description=f"A {task.name} that reads each row once. Use it for long rows on {TARGET}.",
        body=f"# {task.name}\n\n## When to use\n\nFor long rows.\n\n## Why it is fast\n\nIt reads row {number} once.\n",
        target=TARGET, language=LANGUAGE, preconditions=Preconditions(ops=(task.name.partition("-")[0],)),
        candidate=candidate if is_kernel else None, suffix=".cpp" if is_kernel else "",
        evidence=(evidence(candidate, task, 100.0),) if is_kernel else (),
    )  # fmt: skip


def make_library(home: Path, size: int) -> None:
    judged = []
    for number in range(size):
        one = skill(number)
        judged += [each.id for each in one.evidence]
        for path, content in skill_files(one).items():
            (home / "skills" / one.name / path).parent.mkdir(parents=True, exist_ok=True)
            (home / "skills" / one.name / path).write_bytes(content)
    (home / JUDGED).write_text("".join(f"{one}\n" for one in judged), encoding="utf-8")


# Runs


def entries(task: Task, candidates: int) -> Iterator[JournalEntry]:
    """A search on two levels: a structure, 16 settings timed quickly, two of them judged; each fifth is refused."""
    step = structure = 0
    refused = last = 0
    while step < candidates:
        structure += 1
        stage = Stage.FIX if refused else Stage.IMPROVE if structure % 4 else Stage.RETHINK
        base, passed = refused or last * (stage is Stage.IMPROVE), bool(refused or structure % 5)
        written = kernel(structure, OWN)
        asked = {"number": structure, "question": structure, "author": "made-up", "usage": Usage(output_tokens=500)}
        ask, text = Move(stage=stage, base=base), f"note: try\n\n```cpp\n{written.source}```\n"
        step += 1
        yield JournalEntry(kind="asked", step=step, ask=ask, exchange=Exchange(**asked))
        yield JournalEntry(kind="answered", step=step, ask=ask, exchange=Exchange(**asked, answered=True, text=text))
        proposal = Proposal(candidate=written, note=f"try {structure}", author="made-up", stage=stage, parent=base)
        yield from judged(step, proposal, task, 100.0 + structure * 7919 % 1000 / 10, passed=passed)
        refused, last = (0, step) if passed else (step, last)
        if not passed:
            continue
        for place, point in enumerate(POINTS):
            time_us = {0: 80.0, 2: 85.0}.get(place, 100.0)
            tried = Tried(template=written.template_digest, values=point, time_us=time_us, took_s=0.1)
            yield JournalEntry(kind="tried", step=step + 1, tried=tried)
        for point in (POINTS[0], POINTS[2]):
            if step < candidates:
                step, tuned = step + 1, kernel(structure, point)
                proposal = Proposal(candidate=tuned, note="among the fastest", author="made-up", parent=last)
                near_end = candidates - step < 3
                yield from judged(step, proposal, task, 40.0 if near_end else 90.0 + structure % 10, passed=True)


def judged(step: int, proposal: Proposal, task: Task, time_us: float, *, passed: bool) -> Iterator[JournalEntry]:
    yield JournalEntry(kind="proposed", step=step, proposal=proposal)
    found = evidence(proposal.candidate, task, time_us, passed=passed)
    yield JournalEntry(kind="judged", step=step, evidence=found)


def plan_of(task: Task, part: Part | None = None) -> Plan:
    return Plan(
        task=task, target=TARGET, language=LANGUAGE, synthesizer=SynthesizerKind.AUTHORS, authors=("recorded:made-up",),
        evaluations=10**6, documents=False, part=part,
    )  # fmt: skip


def make_run(home: Path, candidates: int, plan: Plan | None = None) -> Run:
    plan = plan or plan_of(task_of(0))
    run = Runs(home).start(plan)
    lines = [json.dumps(e.model_dump(mode="json", exclude_defaults=True)) for e in entries(plan.task, candidates)]
    (run.folder / JOURNAL).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return run


class MadeUpAuthor:
    """Answers each request with a structure of its own."""

    secrets, name = (), "made-up"

    def answer(self, ask: Ask) -> Reply:
        text = f"note: {ask.number}\n\n```cpp\n{SOURCE.format(structure=10**6 + ask.number)}```\n"
        return Reply(text=text, usage=Usage(output_tokens=500))


class MadeUpJudge:
    """Each structure is a gain; its own settings are the best."""

    interface = INTERFACE

    def __init__(self, task: Task) -> None:
        self.task, self.time_us = task, 40.0

    def called(self) -> None:
        """Before each answer."""

    def verify(self, candidate: Candidate) -> Evidence:
        self.called()
        self.time_us *= 0.95
        return evidence(candidate, self.task, self.time_us)

    def estimate(self, candidate: Candidate) -> Estimate:
        self.called()
        return Estimate(time_us=self.time_us)


# Campaigns


def make_campaign(home: Path, tasks: int, candidates: int = 8) -> Campaign:
    """Each run has judged half of its candidates or all."""
    campaign = Campaign(
        name=CAMPAIGN, targets=(TARGET,), language=LANGUAGE, authors=("recorded:made-up",), judge="carried", seed=0,
        budget=Budget(evaluations=tasks * candidates), arms=(Arm(),),
        tasks=tuple(GroupedTask(group=f"level{n % 3}", task=task_of(n)) for n in range(tasks)),
    )  # fmt: skip
    for number, one in enumerate(campaign.tasks):
        part = Part(campaign=campaign.name, group=one.group, arm="kb")
        make_run(home, candidates // (1 + number % 2), plan_of(one.task, part))
    folder = home / "campaigns" / campaign.name
    folder.mkdir(parents=True)
    (folder / "campaign.json").write_text(campaign.model_dump_json(indent=1), encoding="utf-8")
    return campaign

"""Sample requests that cover every part of a prompt."""

from eval.languages.registry import CPP, TRITON
from kb.types.base import tokens_of
from kb.types.briefing import Answer, Briefing, Said
from kb.types.evidence import CaseResult, Evidence, Finding, Grade, KernelScreen, Outcome
from kb.types.fact import Fact
from kb.types.kernels import Candidate, Interface, Language, Task, TensorSpec
from kb.types.passages import Citation
from kb.types.protocols import Attempt, RecalledSkill, Request
from kb.types.skill import Skill, SkillStanding
from kb.types.terms import Terms
from kb.types.timing import Session, Timing
from synth.prompts.prompt import build_prompt

TASK = Task(
    name="row-scale",
    source='''\
import torch
import torch.nn as nn

rows = 1024
columns = 4096


class Model(nn.Module):
    """Scales each row by a learned weight."""

    def __init__(self, columns, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(columns))
        self.eps = eps

    def forward(self, x):
        return x * self.weight / (x.abs().amax(-1, keepdim=True) + self.eps)


def get_inputs():
    return [torch.rand(rows, columns)]


def get_init_inputs():
    return [columns, 1e-5]
''',
)
INTERFACE = Interface(
    inputs=(TensorSpec(name="x", shape=(1024, 4096), dtype="float32"),),
    state=(TensorSpec(name="weight", shape=(4096,), dtype="float32"),),
    outputs=(TensorSpec(name="output0", shape=(1024, 4096), dtype="float32"),),
    init=(4096.0, 1e-5),
)
TRITON_SOURCE = """\
import torch
import triton
import triton.language as tl

BLOCK = 1024  # tune: 256, 512, 1024


class ModelNew(torch.nn.Module): ...
"""
CPP_SOURCE = """\
#include "kb_tensor.h"

constexpr int UNROLL = 4;  // tune: 1, 2, 4, 8

void model_new(const Tensor *inputs, const Tensor *state, const double *init, Tensor *outputs) {}
"""
SOURCES = {
    "triton": TRITON_SOURCE,
    "torch": TRITON_SOURCE.replace("import triton", "# no triton"),
    "cpp": CPP_SOURCE,
}


WIDE = "Use wide loads:\n```asm\nglobal_load_dwordx4 v[0:3], v[4:5], off\n```"


def citation(number: int, path: str = "mi300x/isa.md") -> Citation:
    return Citation(
        id=f"{number:012x}",
        path=path,
        sha256=f"{number:064x}",
        section=("Memory", "Local data share"),
        line_start=10 * number,
        line_end=10 * number + 2,
    )


def fact(number: int, quantity: str = "lds_size", target: str = "mi300x", condition: str = "per compute unit") -> Fact:
    return Fact(
        target=target,
        quantity=quantity,
        value="64",
        number=64.0,
        unit="KiB",
        condition=condition,
        source="the vendor's manual",
        citation=citation(number),
    )


def said(number: int, text: str = "Each compute unit has 64 KiB of local data share.") -> Said:
    return Said(text=text, citation=citation(number))


def answer(asks: str, facts: tuple[Fact, ...] = (), *words: Said) -> Answer:
    return Answer(asks=asks, facts=facts, said=words)


def candidate(language: Language, mark: str = "") -> Candidate:
    comment = "//" if language == CPP else "#"
    return Candidate(language=language.name, source=SOURCES[language.name] + (f"{comment} {mark}\n" if mark else ""))


def timing(speedup: float) -> Timing:
    """Three sessions with 5 % of noise around 100 us for the baseline."""
    session = Session(
        baseline_us=(99.0, 100.0, 101.0),
        candidate_us=tuple(t / speedup for t in (99.0, 100.0, 101.0)),
        inside_us=tuple(t / speedup for t in (98.0, 99.0, 100.0)),
        speedup=speedup,
        low=speedup * 0.95,
        high=speedup * 1.05,
    )
    return Timing(baseline="compile", baselines_us={"eager": 140.0, "compile": 100.0}, sessions=(session,) * 3)


SCREEN = KernelScreen(
    kernel="row_scale",
    isa="hip gfx942 64",
    num_warps=4,
    registers=128,
    spills=12,
    scratchpad_bytes=81920,
    occupancy=None,
    matrix_instructions={},
    memory_instructions={"global_load_dword": 8, "global_store_dwordx4": 2},
    findings=(
        Finding(check="scratchpad", state="over", message="scratchpad 81,920 B > 65,536 B", citation="00000000000a"),
        Finding(check="registers", state="ok", message="registers 128 <= 512", citation="00000000000b"),
        Finding(check="spills", state="warn", message="12 registers spilled per lane"),
        Finding(check="occupancy", state="unknown", message="occupancy: no document states one value of simd_units"),
    ),
)


def evidence(
    of: Candidate,
    outcome: Outcome = Outcome.PASSED,
    *,
    speedup: float | None = None,
    target: str = "cpu-x86",
    detail: str = "",
    cases: tuple[CaseResult, ...] = (),
    screen: tuple[KernelScreen, ...] = (),
    log: str = "",
) -> Evidence:
    passed = Grade.COMPILED if speedup is None else Grade.MEASURED
    return Evidence(
        task=TASK.name,
        task_digest=TASK.digest,
        candidate_digest=of.digest,
        language=of.language,
        target=target,
        outcome=outcome,
        detail=detail,
        grade=passed if outcome is Outcome.PASSED else None,
        cases=cases,
        timing=None if speedup is None else timing(speedup),
        screen=screen,
        log=log,
        sandbox_level=2,
        environment={"torch": "2.11.0", "machine": "16 cores"},
        created="2026-01-01T00:00:00Z",
    )


def attempt(language: Language, outcome: Outcome = Outcome.PASSED, mark: str = "", **account: object) -> Attempt:
    of = candidate(language, mark or outcome)
    return Attempt(candidate=of, evidence=evidence(of, outcome, **account), note=f"tries {mark or outcome}")


def skill(name: str, language: Language, *speedups: float | None) -> RecalledSkill:
    """A skill with one evidence record per speed-up; None stands for one that was only compiled."""
    of = candidate(language, name)
    won = any(speedup and speedup > 1 for speedup in speedups)
    standing = SkillStanding.VERIFIED if won else SkillStanding.SCREENED if speedups else SkillStanding.HYPOTHESIS
    found = Skill(
        name=name,
        description=f"What {name} does and when to use it.",
        body="## Why it works\n\nRows are read once.\n",
        target="cpu-x86",
        language=language.name,
        candidate=of,
        suffix=language.suffix,
        evidence=tuple(evidence(of, speedup=speedup) for speedup in speedups),
    )
    return RecalledSkill(skill=found, standing=standing, whole=True)


def request(language: Language, target: str = "cpu-x86", **parts: object) -> Request:
    return Request(task=TASK, interface=INTERFACE, target=target, language=language, **parts)


def cold() -> Request:
    """The first request of a run: with documents, without attempts."""
    return request(
        TRITON,
        "mi300x",
        terms=Terms(judged="screen", versions={"triton": "3.7.1"}, roof=("80.1 us: 268,435,456 B at 3.35 TB/s",)),
        briefing=Briefing(
            answers=(
                answer("How large is the scratchpad?", (fact(1), fact(2, "wavefront_size", "cdna3", ""))),
                answer("Which loads are wide?", (), said(3), said(4, WIDE)),
            ),
            open=("What goes wrong?",),
        ),
    )


def warm() -> Request:
    """A request late in a run: an attempt of each outcome, and a skill of each standing."""
    failing = {
        Outcome.INCORRECT: {
            "detail": "an output is not finite; the first at [0, 16]: nan, not 1 (columns=17)",
            "cases": (
                CaseResult(name="rows=1023; given values", outcome=Outcome.PASSED, max_error=1e-7, error_ratio=0.1),
                CaseResult(name="rows=1023; mixed values", outcome=Outcome.PASSED, max_error=1e-7, error_ratio=0.1),
            ),
        },
        Outcome.COMPILE_ERROR: {
            "detail": "candidate.cpp:5:1: error: expected ';'\n```\nnot the end",
            "log": "cc: 1 error",
        },
        Outcome.OVER_LIMIT: {"detail": "row_scale: scratchpad", "screen": (SCREEN,)},
    }
    attempts = [attempt(CPP, outcome, **failing.get(outcome, {})) for outcome in Outcome if outcome != "passed"]
    attempts += [
        attempt(CPP, mark="a win", speedup=1.5),
        attempt(CPP, mark="a loss", speedup=0.8),
        attempt(CPP, mark="a screen", screen=(SCREEN,)),
    ]
    return request(
        CPP,
        terms=Terms(judged="cpu", device="a CPU", baselines=("eager", "compile")),
        briefing=Briefing(
            answers=(answer("How large is the cache?", (fact(1, target="cpu-x86", quantity="l2_size"),)),)
        ),
        skills=(
            skill("stream-rows", CPP, 1.4, 1.2),
            skill("no-gain", CPP, None, 0.9),
            skill("screened-rows", CPP, None),
            skill("a-guess", CPP),
        ),
        attempts=tuple(attempts),
    )


def tight() -> Request:
    """A late request whose budget allows little more than the required parts and two attempts."""
    late = warm()
    bare = build_prompt(late.model_copy(update={"skills": (), "briefing": Briefing()}))
    shown = (TASK.source, late.attempts[-3].candidate.source, late.attempts[-1].candidate.source)
    least = tokens_of(bare.text) - sum(map(tokens_of, shown))
    briefing = Briefing(answers=(*late.briefing.answers, *cold().briefing.answers))
    return late.model_copy(update={"budget_tokens": least + 20, "briefing": briefing})

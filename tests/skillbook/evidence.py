"""Small skills, and evidence as a judge would give it."""

from typing import Any

from eval.languages.registry import language_named
from kb.types.evidence import CaseResult, Evidence, Grade, Outcome
from kb.types.kernels import Candidate, Task
from kb.types.skill import Skill
from kb.types.timing import Session, Timing

TASK = Task(name="row-softmax", source="class Model: ...\n")
KERNEL = Candidate(
    language="triton",
    source="import triton\n\nBLOCK = 1024  # tune: 256, 512, 1024\nSTAGES = 2  # tune: 1, 2\n\n\nclass ModelNew: ...\n",
)


def evidence(candidate: Candidate = KERNEL, *, speedup: float | None = None, **fields: Any) -> Evidence:
    """Evidence of a pass, timed if a speed-up is given."""
    defaults = {
        "task": TASK.name,
        "task_digest": TASK.digest,
        "candidate_digest": candidate.digest,
        "language": candidate.language,
        "target": "mi300x",
        "outcome": Outcome.PASSED,
        "grade": Grade.MEASURED if speedup else Grade.COMPILED,
        "cases": (CaseResult(name="small", outcome=Outcome.PASSED, max_error=0.0, error_ratio=0.0),),
        "timing": timing(speedup) if speedup else None,
        "sandbox_level": 2,
        "environment": {"machine": "Test Machine", "torch": "2.11"},
        "created": "2025-11-20T10:00:00+00:00",
    }
    return Evidence(**defaults | fields)


def refused(candidate: Candidate, outcome: Outcome = Outcome.INCORRECT, detail: str = "") -> Evidence:
    return evidence(candidate, outcome=outcome, grade=None, detail=detail)


def timing(speedup: float) -> Timing:
    session = Session(
        baseline_us=(150.0,),
        candidate_us=(150.0 / speedup,),
        inside_us=(149.0 / speedup,),
        speedup=speedup,
        low=max(speedup - 0.01, speedup / 2),
        high=speedup + 0.01,
    )
    baselines = {"eager": 200.0, "torch.compile": 150.0}
    return Timing(baseline="torch.compile", baselines_us=baselines, sessions=(session,) * 3)


def skill(name: str = "softmax", **fields: Any) -> Skill:
    defaults = {
        "name": name,
        "description": "Softmax over rows. Use it for rows that fit into registers.",
        "body": "# Softmax\n\nOne program for each row.",
        "target": "mi300x",
        "candidate": KERNEL,
    }
    if candidate := fields.get("candidate", KERNEL):
        defaults |= {"language": candidate.language, "suffix": language_named(candidate.language).suffix}
    return Skill(**{"suffix": "", **defaults, **fields})


def kernel(text: str, language: str = "triton") -> Candidate:
    return Candidate(language=language, source=f"{text}\n")

"""Judge the GPU candidates of kernels/ on this machine's GPU, in this process."""

from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path

from eval.devices.gpu import Gpu
from eval.judge.task_judge import TaskJudge
from eval.machine import present_gpu
from eval.oracle.task import load_task
from eval.selftest.known import known, read_candidate
from eval.supervisor.settings import ALL_GUARDS, Guard
from kb.types.evidence import Evidence
from kb.types.kernels import Candidate, Task
from kb.types.target import Isa

ROOT = Path(__file__).parents[2]
SKILLS = ROOT / "kb" / "skills"
CHEATS, HONEST = (
    sorted((k for k in kernels if k.device == "Gpu"), key=lambda k: (k.task, k.call_s or 0.0))
    for kernels in (known().cheats, known().honest)
)
"""Those with the same task follow each other, because they share its judge."""
SCREENED = sorted((k for k in known().honest if k.device == "TritonCompiler"), key=lambda k: k.task)
"""Honest kernels in Triton, with which screens are tested where there is no GPU."""
TEMPLATES = {path.name: path.name.removesuffix("-triton").replace("-", "_") for path in SKILLS.glob("*-triton")}
"""Skills with Triton kernels, and the tasks that they solve."""


def template(name: str) -> tuple[Candidate, Task]:
    """A template in Triton, and the task that it solves."""
    kernel = SKILLS / name / "scripts" / "kernel.py"
    return read_candidate(kernel), load_task(ROOT / "examples" / f"{TEMPLATES[name]}.py")


_others = ExitStack()
"""Ends the judge before: several judges have dozens of workers, which slow each other."""


@lru_cache(maxsize=1)
def judge_on(task: Task, call_s: float = 60.0, off: Guard | None = None) -> TaskJudge:
    """The judge for a task on this GPU, without one of its guards."""
    _others.close()
    found = present_gpu()
    assert found
    isa = Isa(found.backend, found.architecture, 32)
    judge = TaskJudge(task, "this-gpu", isa, [], call_s=call_s, guards=ALL_GUARDS - {off}, device=Gpu)
    _others.callback(judge.close)
    return judge


def verdict_on(candidate: Candidate, task: Task, call_s: float = 60.0, off: Guard | None = None) -> Evidence:
    return judge_on(task, call_s, off).verify(candidate)

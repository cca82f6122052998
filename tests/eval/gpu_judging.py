"""Judge the GPU candidates of kernels/ on this machine's GPU, in this process."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from eval.devices.gpu import Gpu
from eval.judge.task_judge import TaskJudge
from eval.languages.registry import language_of
from eval.machine import present_gpu
from eval.task import load_task
from eval.worker.process import ALL_GUARDS, Guard
from kb.model.evidence import Evidence, Outcome
from kb.model.kernels import Candidate
from kb.model.target import Isa

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WRONG, CORRECT, SKILLS = (
    HERE / "kernels" / "wrong" / "gpu",
    HERE / "kernels" / "correct" / "gpu",
    ROOT / "kb" / "skills",
)


@dataclass(frozen=True)
class Cheat:
    """A file of kernels/wrong/gpu, the outcomes that it may have, and the task that it is tried on.

    Args:
        guard: The guard that catches it. None if no guard can be switched off, because it gives nothing to accept.
    """

    file: str
    outcomes: tuple[Outcome, ...]
    on: str = "softmax"
    call_s: float = 60.0
    guard: Guard | None = None


CHEATS = [
    Cheat("other_stream.py", (Outcome.CLOCKS_DISAGREE, Outcome.STALE_OUTPUT)),
    Cheat("patched_events.py", (Outcome.CLOCKS_DISAGREE,), guard=Guard.CLOCKS),
    Cheat("answers_early.py", (Outcome.CLOCKS_DISAGREE, Outcome.STALE_OUTPUT, Outcome.LATE_OUTPUT)),
    Cheat("writes_late.py", (Outcome.LATE_OUTPUT, Outcome.FORBIDDEN, Outcome.INCORRECT)),
    Cheat("runs_on.py", (Outcome.FORBIDDEN,)),
    Cheat("stale_by_pointer.py", (Outcome.STALE_OUTPUT, Outcome.INCORRECT), guard=Guard.COMPARISON),
    Cheat("old_memory.py", (Outcome.STALE_OUTPUT, Outcome.INCORRECT), guard=Guard.COMPARISON),
    Cheat("computes_ahead.py", (Outcome.STALE_OUTPUT, Outcome.INCORRECT), guard=Guard.COMPARISON),
    Cheat("far_corner.py", (Outcome.INCORRECT,), guard=Guard.COMPARISON),
    Cheat("returns_input.py", (Outcome.ALIASED_INPUT,)),
    Cheat("mutates_input.py", (Outcome.MUTATED_INPUT,), guard=Guard.MUTATION),
    Cheat("on_the_host.py", (Outcome.BAD_OUTPUT,)),
    Cheat("no_such_handle.py", (Outcome.BAD_OUTPUT,)),
    Cheat("not_a_handle.py", (Outcome.FORGED,)),
    Cheat("far_offset.py", (Outcome.BAD_OUTPUT,)),
    Cheat("odd_offset.py", (Outcome.BAD_OUTPUT,)),
    Cheat("half_precision.py", (Outcome.INCORRECT,), guard=Guard.COMPARISON),
    Cheat("raises.py", (Outcome.RAISED,)),
    Cheat("opens_socket.py", (Outcome.FORBIDDEN,)),
    Cheat("illegal_address.cu", (Outcome.CRASHED,), "scale"),
    Cheat("misaligned.cu", (Outcome.CRASHED,), "scale"),
    Cheat("endless.cu", (Outcome.TIMED_OUT,), "scale", call_s=5.0),
    Cheat("leaves_tail.cu", (Outcome.INCORRECT,), "scale", guard=Guard.COMPARISON),
    Cheat("does_not_compile.cu", (Outcome.COMPILE_ERROR,), "scale"),
    Cheat("no_model_new.cu", (Outcome.COMPILE_ERROR,), "scale"),
]
APART = {"persisting_l2.cu"}
"""Cheats that are not refused, because they gain nothing."""
HONEST = {
    **{f"{name}.cu": name for name in ("scale", "gelu", "row_sum", "softmax", "layernorm", "exclusive_cumsum")},
    "linear_repacked.cu": "linear",
    "matmul_tiled.cu": "matmul",
    "softmax_eager.py": "softmax",
    "waits_for_value.py": "scale",
    "own_stream.py": "scale",
}
"""Files of kernels/correct/gpu, and the tasks that they solve."""
TEMPLATES = {path.name: path.name.removesuffix("-triton").replace("-", "_") for path in SKILLS.glob("*-triton")}
"""Skills with Triton kernels, and the tasks that they solve."""


def candidate(path: Path) -> Candidate:
    source = path.read_text(encoding="utf-8")
    return Candidate(language=language_of(path, source).name, source=source)


def template(name: str) -> Candidate:
    return candidate(SKILLS / name / "scripts" / "kernel.py")


@cache
def judge_on(task: str, call_s: float = 60.0, off: Guard | None = None) -> TaskJudge:
    """The judge for a task of examples/ or of tasks/, on this GPU, without one of its guards."""
    found = present_gpu()
    assert found
    path = next(p for p in (ROOT / "examples" / f"{task}.py", HERE / "tasks" / f"{task}.py") if p.exists())
    isa = Isa(found.backend, found.architecture, 32)
    return TaskJudge(load_task(path), "this-gpu", isa, [], call_s=call_s, guards=ALL_GUARDS - {off}, device=Gpu)


def verdict_on(candidate: Candidate, task: str, call_s: float = 60.0, off: Guard | None = None) -> Evidence:
    return judge_on(task, call_s, off).verify(candidate)

"""The result of a campaign for absent chips says what was right and what it needs, and nothing of speed."""

from types import SimpleNamespace
from typing import Any

from benchmarks.campaign_absent import row, summary
from eval.languages.registry import CPP
from kb.types.evidence import Grade, KernelScreen, Outcome
from kb.types.protocols import Attempt, Stage
from kb.types.target import Isa
from tests.runs.fakes import TASK
from tests.synth.samples import candidate, evidence

KERNEL = candidate(CPP)


def screen(spills: int) -> KernelScreen:
    return KernelScreen(
        kernel="k", isa=Isa("hip", "gfx942", 64), num_warps=4, registers=64, spills=spills, scratchpad_bytes=0,
        occupancy=8, matrix_instructions={}, memory_instructions={}, findings=(),
    )  # fmt: skip


def attempt(stage: Stage, **changes: object) -> Attempt:
    found = evidence(KERNEL, outcome=Outcome.INCORRECT if not changes else Outcome.PASSED, speedup=None)
    return Attempt(candidate=KERNEL, evidence=found.model_copy(update=changes), stage=stage)


def run_of(*attempts: Attempt) -> Any:
    plan = SimpleNamespace(part=None, task=TASK, target="mi300x")
    spent = SimpleNamespace(usage=SimpleNamespace(total=100), dollars=0.0)
    best = next((one for one in attempts if one.evidence.passed), None)
    return SimpleNamespace(
        id="r", plan=plan, attempts=attempts, best=best, spent=spent, exchanges=(), judged_s=60.0, ended=""
    )


def test_the_best_correct_kernel_spills_least_and_the_first_is_listed_too() -> None:
    passed = {"grade": Grade.COMPILED, "detail": "at best 25.3 us: 1 B at 1 TB/s"}
    run = run_of(
        attempt(Stage.DRAFT),
        attempt(Stage.FIX, **passed, screen=(screen(9),)),
        attempt(Stage.RETHINK, **passed, screen=(screen(0),)),
    )

    found = row(run)
    assert (found["first correct"]["attempt"], found["best correct"]["attempt"]) == (2, 3)
    assert found["best correct"]["no kernel is faster than"] == "25.3 us: 1 B at 1 TB/s"
    assert "speedup" not in found
    assert summary([run, run_of(attempt(Stage.DRAFT))]) == {
        "tasks": 2,
        "tasks with a correct kernel": 1,
        "share, 95 %": [0.5, 0.0, 1.0],
        "candidates": 4,
        "correct": 2,
        "correct at the first answer": 0,
        "refused": {"incorrect": 2},
        "asked for": {"draft": 2, "fix": 1, "rethink": 1},
        "correct with spills": 1,
        "warnings of correct kernels": {},
        "tokens": 200,
        "minutes of the judge": 2.0,
    }


def test_the_best_kernel_of_a_simulator_takes_the_fewest_cycles() -> None:
    said = "the simulator counted {} cycles for the longest call"
    slow, fast = (
        attempt(Stage.DRAFT, grade=Grade.SIMULATED, detail=said.format(cycles)) for cycles in ("2,000", "900")
    )

    found = row(run_of(slow, fast))["best correct"]
    assert (found["attempt"], found["cycles"]) == (2, 900)

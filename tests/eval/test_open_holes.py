"""The judge's known weaknesses: candidates that still get a false verdict, or get past a limit.

Each test says what the judge should do, and is expected to fail. Whoever closes one takes its mark away.
"""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from eval.cases import Draw
from eval.judge.refused_draws import KEPT, RefusedDraws
from eval.selftest.known import Known
from kb.model.evidence import Outcome
from kb.model.kernels import Candidate
from tests.eval.judging import is_alive, needs_linux, needs_sandbox

pytestmark = needs_linux
KERNEL = """
import triton
import triton.language as tl
from torch import nn

@triton.jit
def sum_row(x, y, cols, block: tl.constexpr):
    i = tl.arange(0, block)
    row = tl.program_id(0)
    works = {works}
    tl.store(y + row, tl.sum(tl.load(x + row * cols + i, mask=i < cols, other=0), 0), mask=works)

class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        y = x.new_empty(rows)
        if {launches}:
            sum_row[(rows,)](x, y, cols, block=triton.next_power_of_2(cols))
        return y
"""
"""Sums of rows in Triton: each program does its work if `works`, and the host launches them if `launches`."""
LEAVES_A_CHILD = """
import sys
from eval.languages.registry import TORCH
from eval.machine import sandbox_level
from eval.selftest.known import WRONG, known_task, read_candidate
from eval.cases import make_case
from eval.reference import Reference
from eval.worker.trial import Trial
task = known_task("scale")
reference = Reference(task, seed=1)
case = make_case("given", reference, reference.inputs(2))
trial = Trial(read_candidate(WRONG / "forks.py"), TORCH, sandbox_level(), 60)
with trial.worker() as worker:
    trial.build(worker, reference, case)
    worker.let_run(2)
    print(worker.log, flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("works", "launches"),
    [
        pytest.param("row >= 0", "not x.is_cuda", id="the host launches nothing on the chip"),
        pytest.param("(row % 16 > 0) | (tl.num_programs(0) < 500)", "True", id="one program in sixteen is idle"),
    ],
)
@pytest.mark.xfail(
    strict=True, raises=AssertionError, reason="the interpreter has no chip, and no time for all programs"
)
def test_a_triton_candidate_that_is_right_only_in_the_interpreter_is_refused(
    works: str, launches: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("triton")
    from tests.eval.test_triton_judge import judged

    cheat = Known(file="triton/written_here.py", task="row_sum", sizes={"ROWS": 1000, "COLS": 2048})
    source = KERNEL.format(works=works, launches=launches)
    monkeypatch.setattr(Known, "candidate", Candidate(language="triton", source=source))

    assert judged(cheat).outcome is not Outcome.PASSED


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="only the latest are kept, because each costs every later candidate a case",
)
def test_other_refused_candidates_do_not_push_a_draw_out(tmp_path: Path) -> None:
    kept = RefusedDraws(tmp_path / "task.jsonl")
    draws = [Draw(sizes={}, parameters=1, inputs=seed, kinds=("given",)) for seed in range(KEPT + 1)]

    for draw in draws:
        kept.add(draw)

    assert draws[0] in kept.latest()


@needs_sandbox
@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="the kernel kills the worker with its judge, but not the worker's children",
)
def test_what_a_candidate_starts_ends_when_its_judge_is_killed() -> None:
    command, pipe = [sys.executable, "-c", LEAVES_A_CHILD], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as judge:
        said = judge.stdout.readline() if judge.stdout else ""
        judge.kill()
    [child] = re.findall(r"left behind: (\d+)", said)

    try:
        assert not is_alive(int(child))
    finally:
        with suppress(ProcessLookupError):
            os.kill(int(child), signal.SIGKILL)

"""The judge's known weaknesses: candidates that still get a false verdict, or get past a limit.

Each test says what the judge should do, and is expected to fail. Whoever closes one takes its mark away.
"""

from pathlib import Path

import pytest

from eval.judge.counterexamples import KEPT, Counterexamples
from eval.oracle.cases import Draw
from eval.selftest.known import Known
from kb.types.evidence import Outcome
from kb.types.kernels import Candidate
from tests.eval.judging import needs_linux

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
    kept = Counterexamples(tmp_path / "task.jsonl")
    draws = [Draw(sizes={}, parameters=1, inputs=seed, kinds=("given",)) for seed in range(KEPT + 1)]

    for draw in draws:
        kept.add(draw)

    assert draws[0] in kept.latest()

"""The judge's known weaknesses: candidates that still get a false verdict, or get past a limit.

Each test says what the judge should do, and is expected to fail. Whoever closes one takes its mark away.
"""

from pathlib import Path

import pytest

from eval.judge.counterexamples import KEPT, Counterexamples
from eval.oracle.cases import CaseSeed


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="only the latest are kept, because each costs every later candidate a case",
)
def test_other_refused_candidates_do_not_push_a_draw_out(tmp_path: Path) -> None:
    kept = Counterexamples(tmp_path / "task.jsonl")
    draws = [CaseSeed(sizes={}, parameters=1, inputs=seed, kinds=("given",)) for seed in range(KEPT + 1)]

    for draw in draws:
        kept.add(draw)

    assert draws[0] in kept.latest()
